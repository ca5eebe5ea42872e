/** Form of a UUID in lower case, for regular expressions of JavaScript, JSON Schema and Postgres. */
export const UUID_PATTERN = '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}';

const UUID = new RegExp(`^${UUID_PATTERN}$`, 'i');

/** Returns whether a text has the form of a UUID, in upper or lower case. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}
