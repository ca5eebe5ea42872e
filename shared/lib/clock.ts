/** The time, from one place, so that a test can move it. */
let offsetMs = 0;

/** Now, by this process' clock and what a test has added to it. */
export function now(): Date {
  return new Date(Date.now() + offsetMs);
}

/** Moves the time of this process by so many milliseconds in all; 0 puts it back. */
export function setClockOffset(milliseconds: number): void {
  offsetMs = milliseconds;
}

export function addMilliseconds(date: Date, milliseconds: number): Date {
  return new Date(date.getTime() + milliseconds);
}
