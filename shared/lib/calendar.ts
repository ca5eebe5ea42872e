import { DAY_MS, HOUR_MS } from '../spec/durations.ts';

/**
 * Adds calendar months in UTC. A day that the month does not have becomes its last day.
 * Always counted from the anchor, so that Jan 31 gives Feb 28 and then Mar 31 again.
 */
export function addMonths(anchor: Date, months: number): Date {
  const result = new Date(anchor);
  result.setUTCDate(1);
  result.setUTCMonth(anchor.getUTCMonth() + months);
  const lastDay = new Date(Date.UTC(result.getUTCFullYear(), result.getUTCMonth() + 1, 0)).getUTCDate();
  result.setUTCDate(Math.min(anchor.getUTCDate(), lastDay));
  return result;
}

/** Lists UTC days as YYYY-MM-DD, ending with the day of the given moment. */
export function listLastUtcDays(moment: Date, count: number): string[] {
  return Array.from({ length: count }, (_, index) =>
    formatUtcDay(new Date(moment.getTime() - (count - 1 - index) * DAY_MS)),
  );
}

/** Returns the start of the UTC hour of a moment. */
export function floorToHour(moment: Date): Date {
  return new Date(Math.floor(moment.getTime() / HOUR_MS) * HOUR_MS);
}

/** Formats the UTC day of a moment as YYYY-MM-DD. */
export function formatUtcDay(moment: Date): string {
  return moment.toISOString().slice(0, 10);
}
