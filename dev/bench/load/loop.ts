import { setTimeout as delay } from 'node:timers/promises';

/** Does one thing, and calls back when it is done. */
export type LoopClient = (done: (error: Error | null) => void) => void;

/** The exchanges of clients. Their times are in milliseconds. */
export type LoopResult = { done: number; 'per second': number; ms: number[] };

interface LoopOptions {
  /** Number of exchanges that may begin. Default: any. */
  limit?: number;
  /**
   * Begins exchanges at a constant rate, whatever the time of earlier ones. The time of each counts from when it was to
   * begin, so that a delayed sender hides nothing. Default: each client begins its next exchange when its last one
   * ends.
   */
  perSecond?: number;
}

/** Clients with an exchange each at a time. */
export class Loop {
  readonly #startedAt = performance.now();
  readonly #times: number[] = [];
  readonly #free: LoopClient[];
  readonly #perSecond: number | undefined;
  #limit: number;
  #started = 0;
  #lastDoneAt = this.#startedAt;
  #failure: Error | null = null;
  #isTimerSet = false;
  #finish = (): void => {};

  constructor(clients: readonly LoopClient[], { limit = Number.POSITIVE_INFINITY, perSecond }: LoopOptions = {}) {
    this.#free = [...clients];
    this.#limit = limit;
    this.#perSecond = perSecond;
    this.#startDue();
  }

  /** Raises the total number of exchanges that may begin. */
  allow(total: number): void {
    this.#limit = total;
    this.#startDue();
  }

  /** Begins no more exchanges, and resolves when those in progress have ended. */
  stop(): Promise<LoopResult> {
    this.#limit = this.#started;
    return this.waitForEnd();
  }

  /** Resolves when all exchanges that may begin have ended. @throws the first error of a client. */
  async waitForEnd(): Promise<LoopResult> {
    if (!this.#hasEnded()) await new Promise<void>((resolve) => (this.#finish = resolve));
    if (this.#failure !== null) throw this.#failure;
    const done = this.#times.length;
    return { done, 'per second': (1_000 * done) / (this.#lastDoneAt - this.#startedAt), ms: this.#times };
  }

  #hasEnded(): boolean {
    return this.#failure !== null || this.#times.length >= this.#limit;
  }

  #startDue(): void {
    while (this.#free.length > 0 && this.#started < this.#limit && this.#failure === null) {
      const now = performance.now();
      const dueAt = this.#perSecond === undefined ? now : this.#startedAt + (1_000 * this.#started) / this.#perSecond;
      if (dueAt > now) {
        if (!this.#isTimerSet) setTimeout(() => this.#wake(), dueAt - now);
        this.#isTimerSet = true;
        return;
      }
      this.#started += 1;
      this.#start(this.#free.pop() as LoopClient, dueAt);
    }
  }

  #wake(): void {
    this.#isTimerSet = false;
    this.#startDue();
  }

  #start(client: LoopClient, dueAt: number): void {
    client((error) => {
      this.#failure ??= error;
      this.#lastDoneAt = performance.now();
      this.#times.push(this.#lastDoneAt - dueAt);
      this.#free.push(client);
      this.#startDue();
      if (this.#hasEnded()) this.#finish();
    });
  }
}

/** Runs clients for this long, or begins as many exchanges as a rate demands in this time, and lets all of them end. */
export async function runLoop(
  clients: readonly LoopClient[],
  durationMs: number,
  perSecond?: number,
): Promise<LoopResult> {
  if (perSecond !== undefined) {
    const limit = Math.round((perSecond * durationMs) / 1_000);
    return new Loop(clients, { perSecond, limit }).waitForEnd();
  }
  const loop = new Loop(clients);
  await delay(durationMs);
  return loop.stop();
}
