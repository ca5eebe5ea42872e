import { floorToHour, formatUtcDay } from '../../lib/calendar.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { DAY_MS, HOUR_MS } from '../../spec/durations.ts';
import { ServiceError } from '../../spec/errors.ts';
import { type ReportChart, type ReportDefinition, type ReportRange, sumBy } from './report.ts';

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

/** Unit of the series of a report. */
export type Step = 'hour' | 'day' | 'week';

/** Chooses the unit of a series, so that it stays short enough to read. Prepared statements take it as a parameter. */
export function chooseStep({ since, until }: ReportRange): Step {
  const days = (until.getTime() - since.getTime()) / DAY_MS;
  if (days <= 2) return 'hour';
  return days <= 45 ? 'day' : 'week';
}

/** SQL for the start of the hour, day or week of a column, as text: the parameter `step` names the unit. */
export const writeStart = (column: string): string =>
  `to_char(date_trunc(:step, ${column} AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI')`;

/** Formats the text of {@link writeStart} for a row or a bar. */
export function formatStart(start: string, step: Step): string {
  return step === 'hour' ? start : start.slice(0, 10);
}

/** Draws counts of rows by their start, which is that of {@link writeStart}: each series adds up its rows. */
export function chartCounts(
  title: string,
  range: ReportRange,
  series: readonly { name: string; rows: readonly { time: string | null; count: number }[] }[],
): ReportChart {
  const step = chooseStep(range);
  const starts = listStarts(range, step);
  return {
    title: `${title} by ${step}`,
    unit: 'count',
    labels: starts.map((start) => formatStart(start, step)),
    series: series.map(({ name, rows }) => ({
      name,
      values: starts.map((start) =>
        sumBy(
          rows.filter(({ time }) => time === start),
          'count',
        ),
      ),
    })),
  };
}

/** Lists the starts of all hours, days or weeks of a range that have begun. Weeks begin on Monday, as in Postgres. */
function listStarts({ since, until }: ReportRange, step: Step): string[] {
  const stepMs = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS }[step];
  const first = step === 'week' ? addMilliseconds(since, -((since.getUTCDay() + 6) % 7) * DAY_MS) : since;
  const starts: string[] = [];
  for (let start = first; start < until && start <= now(); start = addMilliseconds(start, stepMs))
    starts.push(start.toISOString().slice(0, 16).replace('T', ' '));
  return starts;
}
