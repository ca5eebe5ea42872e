import { EventEmitter, once } from 'node:events';

const DEFAULT_TIMEOUT_MS = 20_000;

/** The log of a program or of a service, with a way to wait for a line of it. */
export class CollectedLog {
  text = '';
  readonly #onText: (text: string) => void;
  readonly #written = new EventEmitter().setMaxListeners(0);

  /** @param onText receives the text as it is written. */
  constructor(onText: (text: string) => void = () => {}) {
    this.#onText = onText;
  }

  write(text: string): void {
    this.text += text;
    this.#onText(text);
    this.#written.emit('text');
  }

  includes(wanted: string | RegExp): boolean {
    return typeof wanted === 'string' ? this.text.includes(wanted) : wanted.test(this.text);
  }

  /**
   * Resolves once the log contains a text.
   * @throws Error with the log after the time limit.
   */
  async waitFor(wanted: string | RegExp, timeoutMs = DEFAULT_TIMEOUT_MS): Promise<void> {
    const signal = AbortSignal.timeout(timeoutMs);
    while (!this.includes(wanted)) {
      await once(this.#written, 'text', { signal }).catch(() => {
        throw new Error(`Not logged within ${timeoutMs} ms: ${wanted}. The log:\n${this.text}`);
      });
    }
  }
}
