/** Closes what an environment has opened, in reverse order, once, however often and from wherever it is called. */
export class Closers {
  readonly #closers: (() => unknown)[] = [];
  #closing: Promise<void> | undefined;

  add(...closers: (() => unknown)[]): void {
    this.#closers.push(...closers);
  }

  /** Adds a closer that runs after all others. */
  addLast(closer: () => unknown): void {
    this.#closers.unshift(closer);
  }

  /** @param onError receives the failure of a closer; the others still run. */
  close(onError: (error: Error) => void = () => {}): Promise<void> {
    this.#closing ??= (async () => {
      for (const closer of this.#closers.toReversed()) {
        await Promise.resolve()
          .then(closer)
          .catch((error: Error) => onError(error));
      }
    })();
    return this.#closing;
  }
}
