import { StripeApiError } from './stripeApiError.ts';

export interface StripeResponse {
  status: number;
  body: unknown;
}

interface SavedResponse {
  fingerprint: string;
  /** Time of the reservation on the fake's clock, in seconds. */
  at: number;
  /** Real time of the reservation, in milliseconds. */
  realAt: number;
  /** null while the request executes. */
  response: StripeResponse | null;
}

const RETENTION_SECONDS = 24 * 3_600;
/** Clients retry a request within this time. */
const RETRY_WINDOW_MS = 60_000;

/** Responses by idempotency key, replayed for a day, errors included. Requests that never executed are not saved. */
export class IdempotencyKeys {
  private readonly saved = new Map<string, SavedResponse>();

  /**
   * Reserves a key.
   * @returns the saved response, or null for the first request, which must call `save` or `release`.
   * @throws StripeApiError if the key was used with other parameters, or is in use.
   */
  reserve(key: string, fingerprint: string, now: number): StripeResponse | null {
    const known = this.saved.get(key);
    if (known === undefined || now - known.at > RETENTION_SECONDS) {
      this.saved.set(key, { fingerprint, at: now, realAt: performance.now(), response: null });
      return null;
    }
    if (known.fingerprint !== fingerprint) {
      const message = `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}' if you meant to execute a different request.`;
      throw new StripeApiError(400, { type: 'idempotency_error', message });
    }
    known.realAt = performance.now();
    if (known.response === null) {
      const message = `There is currently another in-progress request using this Idempotent Key (${key}).`;
      throw new StripeApiError(409, { code: 'idempotency_key_in_use', message });
    }
    return known.response;
  }

  save(key: string, answer: StripeResponse): void {
    const known = this.saved.get(key);
    // A copy: the stored object changes later.
    if (known !== undefined) known.response = structuredClone(answer);
  }

  release(key: string): void {
    this.saved.delete(key);
  }

  /** Deletes saved 5xx responses, as if their day were over. */
  deleteErrors(): void {
    for (const [key, { response: answer }] of this.saved)
      if (answer !== null && answer.status >= 500) this.saved.delete(key);
  }

  /**
   * Extends keys that were used in the last minute of real time, for a clock that jumps while requests are retried.
   */
  extendRecent(now: number): void {
    for (const known of this.saved.values()) if (performance.now() - known.realAt < RETRY_WINDOW_MS) known.at = now;
  }
}
