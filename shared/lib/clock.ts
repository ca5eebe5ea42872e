/** Source of the current time. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

let currentClock = systemClock;

/** Sets the clock of the open service. */
export function setClock(next: Clock): void {
  currentClock = next;
}

/**
 * The current time of the service. All domain code reads the time here; tests open a service with a clock they move.
 */
export function now(): Date {
  return currentClock.now();
}

export function addMilliseconds(date: Date, milliseconds: number): Date {
  return new Date(date.getTime() + milliseconds);
}
