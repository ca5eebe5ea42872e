/** Converts the values `true` and `false` of a form to booleans; numbers stay text. */
export function parseBooleans(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(parseBooleans);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, parseBooleans(item)]));
  }
  return value === 'true' ? true : value === 'false' ? false : value;
}
