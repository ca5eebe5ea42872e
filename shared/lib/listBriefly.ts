/** Most values that a text names. */
const NAMED_MAX = 20;

/** Lists values for a sentence: all of them, or the first ones of many. */
export function listBriefly(values: readonly unknown[]): string {
  const names = values.slice(0, NAMED_MAX).join(', ');
  return values.length <= NAMED_MAX ? names : `${names} and ${values.length - NAMED_MAX} more`;
}
