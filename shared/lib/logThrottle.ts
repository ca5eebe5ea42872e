/**
 * Limits how often a message is logged.
 * @param log receives the number of calls suppressed since the last logged one.
 * @returns a function that calls `log` at most once per interval.
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
