import { now } from '../../../shared/lib/clock.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A day as people write it. In UTC, as we do not know where they are. */
export function day(date: Date): string {
  return date.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });
}

/** How long ago something was, roughly; the day once that says more. */
export function ago(date: Date): string {
  const passedMs = now().getTime() - date.getTime();
  if (passedMs < 2 * MINUTE_MS) return 'just now';
  if (passedMs < 2 * HOUR_MS) return `${Math.floor(passedMs / MINUTE_MS)} minutes ago`;
  if (passedMs < 48 * HOUR_MS) return `${Math.floor(passedMs / HOUR_MS)} hours ago`;
  return `on ${day(date)}`;
}
