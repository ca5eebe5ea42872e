/** Counts the Unicode characters of a text, as the schemas of requests do. */
export const countCharacters = (text: string): number => Array.from(text).length;
