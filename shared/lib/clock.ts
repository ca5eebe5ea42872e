/** Where the service reads the time from. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

let clock = systemClock;

/** Sets the clock of the open service. */
export function useClock(next: Clock): void {
  clock = next;
}

/** The current time of the service. All domain code reads the time here; tests open a service with a clock they move. */
export function now(): Date {
  return clock.now();
}

export function addMilliseconds(date: Date, milliseconds: number): Date {
  return new Date(date.getTime() + milliseconds);
}
