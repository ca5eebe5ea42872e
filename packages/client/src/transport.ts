import { computeRetryDelay, sleep } from './backoff.ts';
import { GenmeterError } from './errors.ts';
import { networkError, readResponse, timeoutError } from './response.ts';

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_MAX_RETRIES = 4;
const HEADER_VALUE = /^[\x21-\x7e]+$/;
const IDEMPOTENCY_KEY = /^[\x20-\x7e]+$/;

export interface GenmeterOptions {
  /** API key (`svc_...`). Without one only models and plans can be read. */
  key?: string | undefined;
  /**
   * Returns an OAuth access token, instead of a key. It is called for each attempt, and once more for a request whose
   * token was rejected (401), with that token. The timeout includes it; the signal aborts when the attempt times out or
   * the request is ended. A call that fails is repeated, except after a GenmeterError that is not transient. The last
   * error is thrown as it is, or that of an earlier attempt which the service may have executed.
   */
  getToken?: ((rejected: string | undefined, signal: AbortSignal) => Promise<string>) | undefined;
  /** Address of the service, such as `https://api.example.com`. */
  baseUrl: string;
  /** Replaces the global `fetch`, for example to use a proxy. */
  fetch?: typeof fetch | undefined;
  /** Milliseconds after which an attempt without a complete response fails. Default: 60,000. */
  timeout?: number | undefined;
  /** Further attempts of a request that failed for a transient reason and can be repeated safely. Default: 4. */
  maxRetries?: number | undefined;
}

/** Options of a single request. */
export interface RequestOptions {
  /** Ends the request, with the reason of the signal as the error. */
  signal?: AbortSignal | undefined;
}

/** Options of a request that the service executes once per idempotency key. */
export interface IdempotentRequestOptions extends RequestOptions {
  /** Replaces the generated `Idempotency-Key`, for retries that outlive the process. */
  idempotencyKey?: string | undefined;
}

type QueryValue = string | number | boolean | Record<string, string> | null | undefined;

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  query?: object | undefined;
  body?: unknown;
  /**
   * Effect of a second execution: `safe` requests have the same effect again, `keyed` ones carry an
   * `Idempotency-Key`. `once` is repeated only if the service did not execute it.
   */
  repetition: 'safe' | 'keyed' | 'once';
  /** Signed address that receives a file, instead of the path. The key is not sent to it. */
  target?: { url: string; headers: Record<string, string>; file: Blob | ArrayBuffer | Uint8Array };
  /** Milliseconds that an attempt may take in addition to the timeout. */
  extraMs?: number;
}

/** Progress of an attempt. */
interface Attempt {
  /** True while `getToken` runs. The request has not been sent then. */
  isAwaitingToken: boolean;
  /** Token with which the request is sent. */
  token?: string;
}

/** Sends requests, and repeats those that failed for a transient reason. */
export class Transport {
  readonly #baseUrl: string;
  readonly #key: string | undefined;
  readonly #getToken: GenmeterOptions['getToken'];
  readonly #fetch: typeof fetch;
  readonly #timeoutMs: number;
  readonly #maxRetries: number;

  constructor(options: GenmeterOptions) {
    this.#baseUrl = parseBaseUrl(options.baseUrl);
    this.#key = options.key?.trim() || undefined;
    if (this.#key !== undefined && !HEADER_VALUE.test(this.#key)) {
      throw new TypeError('key must be an API key: "svc_" followed by 40 hex characters.');
    }
    this.#getToken = options.getToken;
    if (this.#key !== undefined && this.#getToken !== undefined) throw new TypeError('Pass key or getToken, not both.');
    // Browsers require that the global function is called without another receiver.
    this.#fetch = options.fetch ?? ((...args) => globalThis.fetch(...args));
    this.#timeoutMs = parseNumber('timeout', options.timeout ?? DEFAULT_TIMEOUT_MS, 1);
    this.#maxRetries = parseNumber('maxRetries', options.maxRetries ?? DEFAULT_MAX_RETRIES, 0);
  }

  /**
   * Sends a request and returns the parsed body of its response.
   * @throws GenmeterError, or the reason of the signal.
   */
  async request<Result>(call: Call, options: IdempotentRequestOptions = {}): Promise<Result> {
    const { signal } = options;
    const { idempotencyKey } = options;
    if (idempotencyKey !== undefined && !IDEMPOTENCY_KEY.test(idempotencyKey)) {
      throw new TypeError('idempotencyKey must consist of printable ASCII characters.');
    }
    const headers = this.#buildHeaders(call, idempotencyKey);
    /** Error of an attempt that the service may have executed. */
    let uncertain: unknown;
    let rejected: string | undefined;
    for (let number = 0; ; number += 1) {
      const attempt: Attempt = { isAwaitingToken: false };
      try {
        return await this.#limitTime(call, attempt, signal, async (ended) => {
          await this.#addToken(call, attempt, headers, rejected, ended);
          return this.#send<Result>(call, headers, ended);
        });
      } catch (error) {
        signal?.throwIfAborted();
        const { isAwaitingToken: isUnsent, token } = attempt;
        const { status, retryAfterMs } = error instanceof GenmeterError ? error : {};
        if (!isUnsent && status === 401 && token !== undefined && rejected === undefined) {
          rejected = token;
          continue;
        }
        // The attempt whose response was lost has deleted it.
        if (!isUnsent && status === 404 && call.method === 'DELETE' && uncertain !== undefined)
          return undefined as Result;
        if (!isUnsent && (status === undefined || status >= 500)) uncertain = error;
        const delayMs = computeRetryDelay(number, retryAfterMs);
        const isRepeatable = isUnsent ? mayRequestTokenAgain(error) : mayRepeat(call, error);
        if (number >= this.#maxRetries || !isRepeatable || delayMs === undefined) {
          // Neither a 429 nor a missing token says whether an earlier attempt was executed.
          throw isUnsent || status === 429 ? (uncertain ?? error) : error;
        }
        await sleep(delayMs, signal);
      }
    }
  }

  /** Adds the token of `getToken` to the headers. */
  async #addToken(
    { target }: Call,
    attempt: Attempt,
    headers: Record<string, string>,
    rejected: string | undefined,
    ended: AbortSignal,
  ): Promise<void> {
    if (this.#getToken === undefined || target !== undefined) return;
    attempt.isAwaitingToken = true;
    const token: unknown = await this.#getToken(rejected, ended);
    // The attempt may have ended meanwhile.
    ended.throwIfAborted();
    attempt.isAwaitingToken = false;
    if (typeof token !== 'string' || !HEADER_VALUE.test(token)) {
      throw new TypeError('getToken must return an access token.');
    }
    attempt.token = token;
    headers['authorization'] = `Bearer ${token}`;
  }

  #buildHeaders({ body, repetition, target }: Call, idempotencyKey: string | undefined): Record<string, string> {
    if (target !== undefined) return target.headers;
    return {
      accept: 'application/json',
      ...(this.#key === undefined ? {} : { authorization: `Bearer ${this.#key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      // The same in every attempt.
      ...(repetition === 'keyed' ? { 'idempotency-key': idempotencyKey ?? createIdempotencyKey() } : {}),
    };
  }

  /** Runs an attempt until it ends, its time is over, or the signal aborts. */
  async #limitTime<Result>(
    { extraMs = 0 }: Call,
    attempt: Attempt,
    signal: AbortSignal | undefined,
    work: (ended: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    signal?.throwIfAborted();
    const controller = new AbortController();
    const aborted = new Promise<never>((_resolve, reject) => {
      controller.signal.addEventListener('abort', () => reject(controller.signal.reason as Error));
    });
    const abort = () => controller.abort(signal?.reason);
    const expire = () => controller.abort(timeoutError(attempt.isAwaitingToken ? 'getToken' : this.#baseUrl));
    const timer = setTimeout(expire, this.#timeoutMs + extraMs);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      return await Promise.race([work(controller.signal), aborted]);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  async #send<Result>(call: Call, headers: Record<string, string>, signal: AbortSignal): Promise<Result> {
    let response: Response;
    let text: string;
    try {
      response = await this.#fetch(call.target?.url ?? `${this.#baseUrl}${call.path}${formatQuery(call.query)}`, {
        method: call.method,
        headers,
        body: buildBody(call),
        redirect: 'manual',
        signal,
      });
      // A connection that breaks here has lost the response as well.
      text = await response.text();
    } catch (cause) {
      throw networkError(cause, this.#baseUrl);
    }
    return readResponse(response, text) as Result;
  }
}

function buildBody({ body, target }: Call): NonNullable<RequestInit['body']> | null {
  if (target !== undefined) return target.file as Blob;
  return body === undefined ? null : JSON.stringify(body);
}

function parseBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new TypeError('baseUrl must be the address of the service, such as https://api.example.com.');
  }
  if (url.username !== '' || url.search !== '' || url.hash !== '') {
    throw new TypeError('baseUrl must not contain a user name, a query or a fragment.');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

function parseNumber(name: string, value: number, minimum: number): number {
  if (Number.isFinite(value) && value >= minimum) return value;
  throw new TypeError(`${name} must be a number of at least ${minimum}.`);
}

function formatQuery(query: object = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query as Record<string, QueryValue>)) {
    if (value == null) continue;
    if (typeof value !== 'object') parameters.append(name, String(value));
    else for (const [key, text] of Object.entries(value)) parameters.append(`${name}[${key}]`, text);
  }
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
}

/** 128 random bits. `crypto.randomUUID` is missing on pages that are not served over https. */
function createIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * Returns whether a failed request may be sent again. A 429 was not executed. After any other transient failure it may
 * have been, so only requests without a second effect are repeated.
 */
function mayRepeat({ repetition }: Call, error: unknown): boolean {
  if (!(error instanceof GenmeterError)) return false;
  return error.status === 429 || (isTransient(error) && repetition !== 'once');
}

/** Returns whether a failure of `getToken` may be transient. Nothing is known of errors that are not of the client. */
function mayRequestTokenAgain(error: unknown): boolean {
  return !(error instanceof GenmeterError) || isTransient(error);
}

function isTransient({ error, status }: GenmeterError): boolean {
  return (
    status === 429 ||
    status === 503 ||
    error === 'network_error' ||
    error === 'timeout' ||
    (error === 'unexpected_response' && (status === 502 || status === 504))
  );
}
