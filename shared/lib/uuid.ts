/** Form of a UUID in lower case, for regular expressions of JavaScript, JSON Schema and Postgres. */
export const UUID_PATTERN = '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}';

const UUID = new RegExp(`^${UUID_PATTERN}$`, 'i');

/** Returns the smallest UUID of version 7 of a moment: those of rows created since then are not smaller. */
export function firstUuidAt(moment: Date): string {
  const hex = Math.max(0, moment.getTime()).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** Returns whether a text has the form of a UUID, in upper or lower case. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}
