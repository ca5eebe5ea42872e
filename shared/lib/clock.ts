import { config } from './config.ts';

/** Now, by this process' clock and what a test has added to it: the one place that time comes from. */
export function now(): Date {
  return new Date(Date.now() + config.CLOCK_OFFSET_MS);
}

export function addMilliseconds(date: Date, milliseconds: number): Date {
  return new Date(date.getTime() + milliseconds);
}
