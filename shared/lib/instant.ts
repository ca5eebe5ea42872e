const INSTANT =
  /^(\d{4}-\d\d-\d\d)(?:T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?(\.\d{1,9})?(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d))?$/;

/** Description of the accepted form, for error details: "must be ...". */
export const INSTANT_FORM = 'a date (2026-11-21) or a time with its zone (2026-11-21T09:30:00Z)';

/**
 * Parses an ISO 8601 time with its zone, or a date, which is its start in UTC. Fractions of a millisecond are rounded
 * up, which changes no comparison with a time in whole milliseconds. Times before 1970 become its start.
 * @returns null for any other text, and for days that do not exist.
 */
export function parseInstant(text: string): Date | null {
  const [, day, fraction = ''] = INSTANT.exec(text) ?? [];
  if (day === undefined || !isCalendarDay(day)) return null;
  const withoutFraction = new Date(text.replace(fraction, '')).getTime();
  const milliseconds = Math.ceil(Number(`0${fraction}`) * 1_000);
  return new Date(Math.max(0, withoutFraction + milliseconds));
}

function isCalendarDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}
