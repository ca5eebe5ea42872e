import { now } from '../../../shared/lib/clock.ts';
import { HOUR_MS, MINUTE_MS } from '../../../shared/spec/durations.ts';

/** Formats a day, in UTC because the visitor's time zone is unknown. */
export function formatDate(date: Date): string {
  return date.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });
}

/** Formats a day of this year, in UTC: 22 Nov. */
export function formatDay(date: Date): string {
  return date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
}

/** Formats a time to the minute, in UTC: 22 November 2026, 16:40. */
export function formatDateTime(date: Date): string {
  return `${formatDate(date)}, ${date.toISOString().slice(11, 16)}`;
}

/** Formats a time to the minute for a narrow column, in UTC: 22 Nov 2026, 16:40. */
export function formatShortDateTime(date: Date): string {
  const day = date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });
  return `${day}, ${date.toISOString().slice(11, 16)}`;
}

/** Formats the time since a date in minutes or hours, and as a date after two days. */
export function formatRelativeTime(date: Date): string {
  const elapsedMs = now().getTime() - date.getTime();
  if (elapsedMs < 2 * MINUTE_MS) return 'just now';
  if (elapsedMs < 2 * HOUR_MS) return `${Math.floor(elapsedMs / MINUTE_MS)} minutes ago`;
  if (elapsedMs < 48 * HOUR_MS) return `${Math.floor(elapsedMs / HOUR_MS)} hours ago`;
  return `on ${formatDate(date)}`;
}
