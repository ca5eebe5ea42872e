import { StripeApiError } from './stripeApiError.ts';

export interface StripeResponse {
  status: number;
  body: unknown;
}

interface SavedResponse {
  fingerprint: string;
  /** In seconds. */
  at: number;
  /** The same by a clock that nobody moves, in milliseconds. */
  realAt: number;
  /** null while it is being worked on. */
  response: StripeResponse | null;
}

const RETENTION_SECONDS = 24 * 3_600;
/** So long a request may be repeated by who has made it. */
const RETRY_WINDOW_MS = 60_000;

/** Answers by idempotency key: the same ones again for a day, errors included, but for what was never begun. */
export class IdempotencyKeys {
  private readonly saved = new Map<string, SavedResponse>();

  /**
   * @returns the answer that was given before, or null: then this is the first time, and `keep` or `release` follows.
   * @throws Refusal where the key was used for something else, or is in use.
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
    // As it was then, whatever becomes of the object.
    if (known !== undefined) known.response = structuredClone(answer);
  }

  release(key: string): void {
    this.saved.delete(key);
  }

  /** As if the day were over, for what it would answer with an error of its own again. */
  deleteErrors(): void {
    for (const [key, { response: answer }] of this.saved)
      if (answer !== null && answer.status >= 500) this.saved.delete(key);
  }

  /**
   * Where time jumps while requests are under way: who repeats one seconds later has not waited for the day after which
   * it would be another one.
   */
  extendRecent(now: number): void {
    for (const known of this.saved.values()) if (performance.now() - known.realAt < RETRY_WINDOW_MS) known.at = now;
  }
}
