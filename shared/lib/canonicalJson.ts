/** Serializes a value with the fields of its objects in alphabetical order: equal values have equal texts. */
export function toCanonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, nested: unknown) =>
    typeof nested === 'object' && nested !== null && !Array.isArray(nested)
      ? Object.fromEntries(Object.entries(nested).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : nested,
  );
}
