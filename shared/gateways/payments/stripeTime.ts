/** Converts a time of Stripe's objects. */
export function fromUnixSeconds(seconds: number): Date {
  return new Date(1_000 * seconds);
}
