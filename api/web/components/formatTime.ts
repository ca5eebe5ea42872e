import { now } from '../../../shared/lib/clock.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A day as people write it. In UTC, as we do not know where they are. */
export function formatDate(date: Date): string {
  return date.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });
}

/** How long ago something was, roughly; the day once that says more. */
export function formatRelativeTime(date: Date): string {
  const elapsedMs = now().getTime() - date.getTime();
  if (elapsedMs < 2 * MINUTE_MS) return 'just now';
  if (elapsedMs < 2 * HOUR_MS) return `${Math.floor(elapsedMs / MINUTE_MS)} minutes ago`;
  if (elapsedMs < 48 * HOUR_MS) return `${Math.floor(elapsedMs / HOUR_MS)} hours ago`;
  return `on ${formatDate(date)}`;
}
