import { Refusal } from './refusal.ts';

export interface Answer {
  status: number;
  body: unknown;
}

interface Kept {
  fingerprint: string;
  /** In seconds. */
  at: number;
  /** The same by a clock that nobody moves, in milliseconds. */
  reallyAt: number;
  /** null while it is being worked on. */
  answer: Answer | null;
}

const KEPT_SECONDS = 24 * 3_600;
/** So long a request may be repeated by who has made it. */
const REPEATED_MS = 60_000;

/** Answers by idempotency key: the same ones again for a day, errors included, but for what was never begun. */
export class IdempotencyKeys {
  private readonly kept = new Map<string, Kept>();

  /**
   * @returns the answer that was given before, or null: then this is the first time, and `keep` or `release` follows.
   * @throws Refusal where the key was used for something else, or is in use.
   */
  take(key: string, fingerprint: string, now: number): Answer | null {
    const known = this.kept.get(key);
    if (known === undefined || now - known.at > KEPT_SECONDS) {
      this.kept.set(key, { fingerprint, at: now, reallyAt: performance.now(), answer: null });
      return null;
    }
    if (known.fingerprint !== fingerprint) {
      const message = `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}' if you meant to execute a different request.`;
      throw new Refusal(400, { type: 'idempotency_error', message });
    }
    known.reallyAt = performance.now();
    if (known.answer === null) {
      const message = `There is currently another in-progress request using this Idempotent Key (${key}).`;
      throw new Refusal(409, { code: 'idempotency_key_in_use', message });
    }
    return known.answer;
  }

  keep(key: string, answer: Answer): void {
    const known = this.kept.get(key);
    // As it was then, whatever becomes of the object.
    if (known !== undefined) known.answer = structuredClone(answer);
  }

  release(key: string): void {
    this.kept.delete(key);
  }

  /** As if the day were over, for what it would answer with an error of its own again. */
  forgetErrors(): void {
    for (const [key, { answer }] of this.kept) if (answer !== null && answer.status >= 500) this.kept.delete(key);
  }

  /**
   * Where time jumps while requests are under way: who repeats one seconds later has not waited for the day after which
   * it would be another one.
   */
  carryOver(now: number): void {
    for (const known of this.kept.values()) if (performance.now() - known.reallyAt < REPEATED_MS) known.at = now;
  }
}
