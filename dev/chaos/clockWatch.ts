/**
 * Watches when the clocks of all processes agree. They do not while one is wrong, and from a move of all clocks until
 * each process uses the new time: meanwhile two processes judge expiries and windows by different times.
 */
export class ClockWatch {
  #wrong = 0;
  #agreeSince = Number.NEGATIVE_INFINITY;

  /** Records that a clock is wrong from now on, until `correct`. */
  disturb(): void {
    this.#wrong += 1;
  }

  /** Records that a clock is right again, once its process has confirmed that. */
  async correct(confirmed: Promise<unknown>): Promise<void> {
    await confirmed;
    this.#wrong -= 1;
    this.#agreeSince = performance.now();
  }

  /** @returns true if all clocks have agreed since a time of `performance.now`. */
  haveAgreedSince(time: number): boolean {
    return this.#wrong === 0 && this.#agreeSince <= time;
  }
}
