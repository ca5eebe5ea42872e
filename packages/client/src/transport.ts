import { computeRetryDelay, parseRetryAfter, sleep } from './backoff.ts';
import { type ErrorCode, GenmeterError } from './errors.ts';

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_MAX_RETRIES = 4;
const HEADER_VALUE = /^[\x21-\x7e]+$/;

export interface GenmeterOptions {
  /** API key (`svc_...`). Without one only models and plans can be read. */
  key?: string | undefined;
  /**
   * Returns an OAuth access token, instead of a key. It is called for each attempt, and once more for a request whose
   * token was rejected (401), with that token.
   */
  getToken?: ((rejected?: string) => Promise<string>) | undefined;
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
  /** Time for which the service may hold the response back, in addition to the timeout. */
  heldMs?: number;
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
    const headers = this.#buildHeaders(call, options.idempotencyKey);
    let isOutcomeUnknown = false;
    let rejected: string | undefined;
    for (let attempt = 0; ; attempt += 1) {
      const token = call.target === undefined ? await this.#getToken?.(rejected) : undefined;
      if (token !== undefined) headers['authorization'] = `Bearer ${token}`;
      try {
        return await this.#send<Result>(call, headers, signal);
      } catch (error) {
        if (!(error instanceof GenmeterError)) throw error;
        if (error.status === 401 && token !== undefined && rejected === undefined) {
          rejected = token;
          continue;
        }
        // The attempt whose response was lost has deleted it.
        if (call.method === 'DELETE' && error.status === 404 && isOutcomeUnknown) return undefined as Result;
        isOutcomeUnknown ||= error.status === undefined || error.status >= 500;
        const delayMs = computeRetryDelay(attempt, error.retryAfterMs);
        if (attempt >= this.#maxRetries || !mayRepeat(call, error) || delayMs === undefined) throw error;
        await sleep(delayMs, signal);
      }
    }
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

  async #send<Result>(call: Call, headers: Record<string, string>, signal: AbortSignal | undefined): Promise<Result> {
    signal?.throwIfAborted();
    const controller = new AbortController();
    const abort = () => controller.abort(signal?.reason);
    const timer = setTimeout(() => controller.abort(), this.#timeoutMs + (call.heldMs ?? 0));
    signal?.addEventListener('abort', abort, { once: true });
    let response: Response;
    let text: string;
    try {
      response = await this.#fetch(call.target?.url ?? `${this.#baseUrl}${call.path}${formatQuery(call.query)}`, {
        method: call.method,
        headers,
        body: buildBody(call),
        redirect: 'manual',
        signal: controller.signal,
      });
      // A connection that breaks here has lost the response as well.
      text = await response.text();
    } catch (cause) {
      signal?.throwIfAborted();
      throw describeFailure(cause, controller.signal.aborted, this.#baseUrl);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
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
function mayRepeat({ repetition }: Call, { error, status }: GenmeterError): boolean {
  if (status === 429) return true;
  const isTransient =
    status === 503 ||
    error === 'network_error' ||
    error === 'timeout' ||
    (error === 'unexpected_response' && (status === 502 || status === 504));
  return isTransient && repetition !== 'once';
}

function describeFailure(cause: unknown, isTimeout: boolean, baseUrl: string): GenmeterError {
  if (isTimeout) return new GenmeterError({ error: 'timeout', detail: `${baseUrl} did not respond in time.`, cause });
  // Node hides the reason behind "fetch failed".
  const reason = (cause as { cause?: { message?: string } }).cause?.message || (cause as Error).message;
  return new GenmeterError({
    error: 'network_error',
    detail: `No response from ${baseUrl}: ${reason.replace(/[.?!]+$/, '')}.`,
    cause,
  });
}

function readResponse(response: Response, text: string): unknown {
  const { status, headers } = response;
  const json = parseJson(text);
  if (response.ok && (json !== undefined || text === '')) return json;
  const { error, detail } = (json ?? {}) as { error?: unknown; detail?: unknown };
  const isEnvelope = !response.ok && typeof error === 'string' && typeof detail === 'string';
  throw new GenmeterError({
    error: isEnvelope ? (error as ErrorCode) : 'unexpected_response',
    detail: isEnvelope ? detail : describeUnexpected(response),
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterMs: parseRetryAfter(headers.get('retry-after')),
  });
}

function describeUnexpected({ status, type, headers }: Response): string {
  if (type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    const target = headers.get('location');
    return `The address redirects${target === null ? '' : ` to ${target}`}. Set baseUrl to the final address.`;
  }
  return `The response (status ${status}) is not one of the service. Check baseUrl, and the proxies in front of it.`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
