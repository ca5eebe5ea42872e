import { floorToHour, formatUtcDay } from '../../lib/calendar.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { DAY_MS, HOUR_MS } from '../../spec/durations.ts';
import { ServiceError } from '../../spec/errors.ts';
import type { ReportDefinition, ReportRange } from './report.ts';

/** Days of a range without parameters: today and those before it, as in the staff metrics. */
const DEFAULT_DAYS = 30;
/** A year and a day, so that a year can be compared with the one before it. */
const MAX_DAYS = 366;
/** Earlier days have no data, and the period before them would leave the calendar. */
const EARLIEST_DAY = '2000-01-01';

/**
 * Parses the first and the last day of a report. Without them it covers its default range.
 * @throws ServiceError validation_error
 */
export function parseReportRange(
  defaultRange: ReportDefinition['defaultRange'],
  from: string | undefined,
  to: string | undefined,
): ReportRange {
  if (from === undefined && to === undefined && defaultRange === 'last 24 hours') return lastDayInHours();
  const today = formatUtcDay(now());
  const last = to === undefined ? today : parseDay('to', to);
  const first =
    from === undefined
      ? formatUtcDay(addMilliseconds(startOfDay(last), -(DEFAULT_DAYS - 1) * DAY_MS))
      : parseDay('from', from);
  if (last > today) throw rangeError('to', `to must not be after today, ${today} in UTC.`);
  if (first > last) throw rangeError('from', 'from must not be after to.');
  const [since, until] = [startOfDay(first), addMilliseconds(startOfDay(last), DAY_MS)];
  if (until.getTime() - since.getTime() > MAX_DAYS * DAY_MS)
    throw rangeError('from', `The range must have at most ${MAX_DAYS} days. Choose a later from or an earlier to.`);
  return buildRange(since, until, { from: first, to: last });
}

/** The current hour and the 23 before it, because the sums are hourly. */
function lastDayInHours(): ReportRange {
  const until = addMilliseconds(floorToHour(now()), HOUR_MS);
  return buildRange(addMilliseconds(until, -DAY_MS), until, null);
}

function buildRange(since: Date, until: Date, days: ReportRange['days']): ReportRange {
  const previousSince = new Date(2 * since.getTime() - until.getTime());
  return { since, until, previousSince, days, includesNow: until > now() };
}

function parseDay(field: 'from' | 'to', text: string): string {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(startOfDay(text).getTime());
  if (!isDay || formatUtcDay(startOfDay(text)) !== text || text < EARLIEST_DAY)
    throw rangeError(field, `${field} must be a day such as 2026-11-22, from ${EARLIEST_DAY}.`);
  return text;
}

function startOfDay(day: string): Date {
  return new Date(`${day}T00:00:00Z`);
}

function rangeError(field: string, detail: string): ServiceError {
  return new ServiceError('validation_error', detail, { field });
}
