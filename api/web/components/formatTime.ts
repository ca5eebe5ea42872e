import { now } from '../../../shared/lib/clock.ts';
import { formatLocalDate, formatLocalDateTime, getLocale } from '../../../shared/lib/localFormats.ts';
import { HOUR_MS, MINUTE_MS } from '../../../shared/spec/durations.ts';
import { getLanguage } from '../../language.ts';
import { t } from '../texts.ts';

/** Formats a day, in UTC: 22 Nov 2026. */
export function formatDate(date: Date): string {
  return formatLocalDate(getLanguage(), date);
}

/** Formats a day for the axis of a chart, in UTC: 22 Nov. */
export function formatDay(date: Date): string {
  return date.toLocaleDateString(getLocale(getLanguage()), { day: 'numeric', month: 'short', timeZone: 'UTC' });
}

/** Formats a time to the minute for a sentence, in UTC: 22 Nov 2026, 16:40. Elsewhere `Time` shows it. */
export function formatDateTime(date: Date): string {
  return formatLocalDateTime(getLanguage(), date);
}

/** Formats the time since a date in minutes or hours, and as a date after two days. */
export function formatRelativeTime(date: Date): string {
  const elapsedMs = now().getTime() - date.getTime();
  if (elapsedMs < 2 * MINUTE_MS) return t.justNow();
  if (elapsedMs < 2 * HOUR_MS) return t.minutesAgo({ minutes: Math.floor(elapsedMs / MINUTE_MS) });
  if (elapsedMs < 48 * HOUR_MS) return t.hoursAgo({ hours: Math.floor(elapsedMs / HOUR_MS) });
  return t.onDate({ date: formatDate(date) });
}

/** Describes when a key or an application was last used. */
export function describeLastUse(usedAt: Date | null): string {
  return usedAt === null ? t.neverUsed() : t.lastUsed({ time: formatRelativeTime(usedAt) });
}
