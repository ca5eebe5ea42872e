/**
 * The same day and time so many months later, in UTC; where the month is shorter, its last day.
 * Counted from the anchor each time, so that Jan 31 gives Feb 28 and then Mar 31 again.
 */
export function addMonths(anchor: Date, months: number): Date {
  const result = new Date(anchor);
  result.setUTCDate(1);
  result.setUTCMonth(anchor.getUTCMonth() + months);
  const lastDay = new Date(Date.UTC(result.getUTCFullYear(), result.getUTCMonth() + 1, 0)).getUTCDate();
  result.setUTCDate(Math.min(anchor.getUTCDate(), lastDay));
  return result;
}

/** The UTC days up to that of a moment, which comes last; as YYYY-MM-DD. */
export function listLastUtcDays(moment: Date, count: number): string[] {
  return Array.from({ length: count }, (_, index) =>
    formatUtcDay(new Date(moment.getTime() - (count - 1 - index) * 86_400_000)),
  );
}

/** YYYY-MM-DD of a moment, in UTC. */
export function formatUtcDay(moment: Date): string {
  return moment.toISOString().slice(0, 10);
}
