import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { FaultProxy } from '../../test/fakes/faultProxy.ts';
import { HttpFake } from '../../test/fakes/httpFake.ts';
import { readTextBody } from '../../test/fakes/misbehave.ts';
import type { SeededRandom } from '../../test/fakes/seededRandom.ts';

/** A request that the receiver read to its end. */
export interface ReceivedMessage {
  /** Last part of the path: each endpoint, and each create with a `webhook_url`, has one of its own. */
  token: string;
  /** Headers of Standard Webhooks; empty if missing. */
  id: string;
  timestamp: string;
  signature: string;
  body: string;
  /** In milliseconds, as of `Date.now`. */
  at: number;
  /** True if the response was a success. */
  isAccepted: boolean;
  /** The response, for reports. */
  response: string;
}

type Answer = 'accept' | 'slow' | 'error' | 'busy' | 'reset' | 'hang' | 'redirect';

/** Answers to messages; each is as frequent as it is repeated. */
const ANSWERS: readonly Answer[] = (
  [
    ['accept', 68],
    ['slow', 8],
    ['error', 9],
    ['busy', 5],
    ['reset', 6],
    ['hang', 2],
    ['redirect', 2],
  ] as const
).flatMap(([answer, percent]) => Array<Answer>(percent).fill(answer));
/** Longer than the service waits for a response. */
const HANG_MS = 20_000;
const SLOW_MS = [300, 4_000] as const;
/** The receiver is reachable, and then refuses connections, for as long as this. */
const UP_MS = [8_000, 25_000] as const;
const DOWN_MS = [1_000, 6_000] as const;
const CHECK_INTERVAL_MS = 100;
/** A jump of the clock by more than this is a month. */
const JUMP_MS = 24 * 60 * 60 * 1_000;
/** Messages that each path accepts after a month: the service may lose the response to some. */
const ACCEPTED_AFTER_JUMP = 3;

/**
 * Receives the webhooks of all customers over HTTP, misbehaves by the seed, and records every message. Each path
 * accepts messages before and after a month passes: an endpoint that fails on both sides has failed for more than five
 * days, and the service would disable it.
 */
export class WebhookReceiver extends HttpFake {
  readonly messages: ReceivedMessage[] = [];
  /** Returns true while all messages must be accepted. */
  isPatient: () => boolean = () => false;
  readonly #random: SeededRandom;
  readonly #advancedMs: () => number;
  readonly #afterJump = new Map<string, { advancedMs: number; left: number }>();
  readonly #ending = new AbortController();
  #isCalm = false;
  #outages: Promise<void> = Promise.resolve();
  /** In front of the server. Connections are refused here: the port of a stopped server might be taken. */
  #proxy: FaultProxy | undefined;

  /** @param advancedMs time that the clock of the service is ahead. */
  constructor(random: SeededRandom, advancedMs: () => number) {
    super();
    this.#random = random;
    this.#advancedMs = advancedMs;
  }

  override async start(): Promise<this> {
    await super.start();
    this.#proxy = await new FaultProxy(this.url).start();
    return this;
  }

  buildUrl(token: string): string {
    return new URL(`/hooks/${token}`, this.#proxy?.url ?? this.url).href;
  }

  /** Begins to refuse connections now and then. */
  startOutages(): void {
    this.#outages = this.#alternate();
    // `close` rethrows a failure; until then it must not be an unhandled rejection.
    this.#outages.catch(() => {});
  }

  /** Accepts everything from now on. Resolves when connections are accepted. */
  async setCalm(): Promise<void> {
    this.#isCalm = true;
    this.#ending.abort();
    await this.#outages;
  }

  async close(): Promise<void> {
    try {
      await this.setCalm();
      await this.#proxy?.stop();
    } finally {
      await this.stop();
    }
  }

  protected async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://receiver');
    const readHeader = (name: string) => String(request.headers[name] ?? '');
    const message: ReceivedMessage = {
      body: await readTextBody(request),
      token: pathname.replace(/^\/hooks\//, ''),
      id: readHeader('webhook-id'),
      timestamp: readHeader('webhook-timestamp'),
      signature: readHeader('webhook-signature'),
      at: Date.now(),
      isAccepted: false,
      response: 'none',
    };
    const { token } = message;
    const earlier = this.messages.filter((other) => other.token === token && other.id === message.id).length;
    this.messages.push(message);
    const random = this.#random.fork(`${token} ${message.id} ${earlier}`);
    let planned = random.pick(ANSWERS);
    if (this.#mustAccept(token)) planned = 'accept';
    if (planned === 'slow') await this.#wait(random.nextBetween(...SLOW_MS));
    if (planned === 'hang') await this.#wait(HANG_MS);
    // A month may have begun in the meantime.
    const answer = this.#isWell() || planned === 'slow' ? 'accept' : planned;
    if (response.destroyed || response.socket === null || response.socket.destroyed) {
      message.response = 'closed by the sender';
      return;
    }
    message.response = answer;
    const location = this.buildUrl(`redirected-${token}`);
    if (answer === 'error') response.writeHead(random.pick([400, 404, 500, 502, 503])).end('{"detail":"no"}');
    else if (answer === 'busy') response.writeHead(429, { 'retry-after': String(random.nextBetween(1, 5)) }).end();
    else if (answer === 'redirect') response.writeHead(random.pick([301, 302, 307]), { location }).end();
    else if (answer === 'accept') {
      message.isAccepted = true;
      response.writeHead(random.pick([200, 201, 202])).end('ok');
    } else response.socket.resetAndDestroy();
  }

  #isWell(): boolean {
    return this.#isCalm || this.isPatient();
  }

  #mustAccept(token: string): boolean {
    if (this.#isWell()) return true;
    const advancedMs = this.#advancedMs();
    const known = this.#afterJump.get(token) ?? { advancedMs: 0, left: 0 };
    const hasJumped = advancedMs - known.advancedMs > JUMP_MS;
    const left = hasJumped ? ACCEPTED_AFTER_JUMP : known.left;
    this.#afterJump.set(token, { advancedMs: hasJumped ? advancedMs : known.advancedMs, left: Math.max(0, left - 1) });
    return left > 0;
  }

  /** Waits, but not longer than misbehavior is allowed. */
  async #wait(milliseconds: number): Promise<void> {
    const until = Date.now() + milliseconds;
    while (Date.now() < until && !this.#isWell()) await delay(Math.min(CHECK_INTERVAL_MS, until - Date.now()));
  }

  async #alternate(): Promise<void> {
    const { signal } = this.#ending;
    const random = this.#random.fork('outages');
    for (;;) {
      const advancedMs = this.#advancedMs();
      await delay(random.nextBetween(...UP_MS), undefined, { signal }).catch(() => {});
      const downMs = random.nextBetween(...DOWN_MS);
      if (signal.aborted) return;
      // After a month, an endpoint that has failed before it must be reached at first: see above.
      const hasJumped = this.#advancedMs() - advancedMs > JUMP_MS;
      if (hasJumped || this.#isWell()) continue;
      this.#proxy?.refuse();
      await this.#wait(downMs);
      this.#proxy?.open();
    }
  }
}
