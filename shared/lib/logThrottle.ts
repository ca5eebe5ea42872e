/**
 * Limits how often something is logged.
 * @param log receives how many calls were suppressed since the last one that was not.
 * @returns a function that calls it at most once in the interval.
 */
export function throttleLog<Arguments extends unknown[]>(
  intervalMs: number,
  log: (suppressed: number, ...args: Arguments) => void,
): (...args: Arguments) => void {
  let lastAt = Number.NEGATIVE_INFINITY;
  let suppressed = 0;
  return (...args) => {
    const at = performance.now();
    if (at - lastAt < intervalMs) {
      suppressed += 1;
      return;
    }
    log(suppressed, ...args);
    lastAt = at;
    suppressed = 0;
  };
}
