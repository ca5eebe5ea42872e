/** Text that can be stored, for error details that say what a value must be. */
export const STORABLE_TEXT = 'Unicode text without NUL or replacement characters (U+FFFD)';

/**
 * Returns true for text that Postgres stores as it was sent: no NUL and no unpaired surrogate, which it rejects, and no
 * U+FFFD, which decoders put in the place of invalid UTF-8.
 */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !/[\u0000\uFFFD]/.test(text);
}
