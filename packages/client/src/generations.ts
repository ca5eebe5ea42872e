import { sleep } from './backoff.ts';
import { GenmeterError } from './errors.ts';
import { List, type Page } from './list.ts';
import type { IdempotentRequestOptions, RequestOptions, Transport } from './transport.ts';
import type { CreateGeneration, Estimate, Generation, GenerationFilters } from './types.ts';

/** Time for which the service holds the response of a read back; it allows 45 seconds. */
const LONG_POLL_SECONDS = 30;
/** Shortest time between two reads of a generation. */
const POLL_INTERVAL_MS = 2_000;

export interface WaitOptions extends RequestOptions {
  /** Milliseconds after which the wait fails. Default: none, since the service ends every generation itself. */
  timeout?: number | undefined;
}

/** Videos and images. */
export class Generations {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Charges the credits and queues a generation. It carries an `Idempotency-Key`, so that repeating it after a lost
   * response does not charge again.
   */
  create(generation: CreateGeneration, options?: IdempotentRequestOptions): Promise<Generation> {
    const call = { method: 'POST', path: '/api/generations/create/', body: generation, repetition: 'keyed' } as const;
    return this.#transport.request(call, options);
  }

  /** Computes the price of a generation, and whether it would be accepted now, without creating it. */
  estimate(generation: CreateGeneration, options?: RequestOptions): Promise<Estimate> {
    const call = { method: 'POST', path: '/api/generations/estimate/', body: generation, repetition: 'safe' } as const;
    return this.#transport.request(call, options);
  }

  get(uuid: string, options?: RequestOptions): Promise<Generation> {
    return this.#transport.request({ method: 'GET', path: buildPath(uuid), repetition: 'safe' }, options);
  }

  /**
   * Waits until a generation has ended, and returns it: its `status` is `succeeded` or `failed`.
   * @throws GenmeterError with `error: 'timeout'` after `options.timeout`; the generation continues.
   */
  async wait(uuid: string, { signal, timeout }: WaitOptions = {}): Promise<Generation> {
    const deadline = timeout === undefined ? undefined : AbortSignal.timeout(timeout);
    const signals = [signal, deadline].filter((one) => one !== undefined);
    const call = {
      method: 'GET',
      path: buildPath(uuid),
      query: { wait: LONG_POLL_SECONDS },
      repetition: 'safe',
      extraMs: LONG_POLL_SECONDS * 1_000,
    } as const;
    const ended = AbortSignal.any(signals);
    try {
      for (;;) {
        const startedAt = Date.now();
        const generation = await this.#transport.request<Generation>(call, { signal: ended });
        if (generation.status !== 'queued') return generation;
        // A process of the service that stops, or is busy, does not hold responses back.
        await sleep(Math.max(0, startedAt + POLL_INTERVAL_MS - Date.now()), ended);
      }
    } catch (error) {
      if (error !== deadline?.reason) throw error;
      const detail = `Generation ${uuid} has not ended within ${timeout} ms.`;
      throw new GenmeterError({ error: 'timeout', detail, cause: error });
    }
  }

  /** Lists generations, newest first. */
  list(filters: GenerationFilters = {}, options?: RequestOptions): List<Generation> {
    return new List((page) =>
      this.#transport.request<Page<Generation>>(
        { method: 'GET', path: '/api/generations/', query: { ...filters, page }, repetition: 'safe' },
        options,
      ),
    );
  }

  /**
   * Cancels a queued generation and returns it. One that was submitted to its provider stays `queued` until the
   * provider has responded: `wait` for its end, which may be a success.
   */
  cancel(uuid: string, options?: RequestOptions): Promise<Generation> {
    const call = { method: 'POST', path: `${buildPath(uuid)}cancel/`, repetition: 'safe' } as const;
    return this.#transport.request(call, options);
  }

  /** Deletes a generation and its files, without a refund. */
  delete(uuid: string, options?: RequestOptions): Promise<void> {
    return this.#transport.request({ method: 'DELETE', path: buildPath(uuid), repetition: 'safe' }, options);
  }
}

const buildPath = (uuid: string): string => `/api/generations/${encodeURIComponent(uuid)}/`;
