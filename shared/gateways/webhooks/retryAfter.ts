import { now } from '../../lib/clock.ts';
import { WEBHOOK_RETRY_AFTER_MAX_MS } from '../../spec/webhookDelivery.ts';

/** Parses a `Retry-After` header, in seconds or as a date, up to a day. @returns undefined if it is missing or invalid. */
export function parseRetryAfterMs(header: string | string[] | undefined): number | undefined {
  const value = (Array.isArray(header) ? header[0] : header)?.trim() ?? '';
  const waitMs = /^\d+$/.test(value) ? Number(value) * 1_000 : parseHttpDate(value) - now().getTime();
  return Number.isNaN(waitMs) ? undefined : Math.min(WEBHOOK_RETRY_AFTER_MAX_MS, Math.max(0, waitMs));
}

/** Dates of HTTP start with the day of the week; `Date.parse` accepts much more. */
function parseHttpDate(value: string): number {
  return /^[A-Z][a-z]{2,8},? /.test(value) ? Date.parse(value) : Number.NaN;
}
