/** One suspension of a customer by staff. Times are in milliseconds, as of `performance.now`. */
export interface Suspension {
  requestedAt: number;
  /** Null: not acknowledged yet. */
  confirmedAt: number | null;
  liftRequestedAt: number | null;
  liftedAt: number | null;
}

interface RequestTimes {
  beganAt: number;
  endedAt: number;
}

/** Returns whether the account may have been suspended at some moment of a request. */
export function mayBeSuspended(suspensions: readonly Suspension[], { beganAt, endedAt }: RequestTimes): boolean {
  return suspensions.some(
    ({ requestedAt, liftedAt }) => endedAt >= requestedAt && (liftedAt === null || beganAt <= liftedAt),
  );
}

/** Returns whether the account was certainly suspended from the start of a request to its end. */
export function isSuspendedThroughout(suspensions: readonly Suspension[], { beganAt, endedAt }: RequestTimes): boolean {
  return suspensions.some(
    ({ confirmedAt, liftRequestedAt }) =>
      confirmedAt !== null && beganAt > confirmedAt && (liftRequestedAt === null || endedAt < liftRequestedAt),
  );
}
