import { isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { canParseUrl } from '../../lib/canParseUrl.ts';
import { now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { perService } from '../../lib/serviceScope.ts';
import { isPrivateAddress, resolvePublicAddress } from '../../lib/ssrfGuard.ts';
import {
  WEBHOOK_ATTEMPT_TIMEOUT_MS,
  WEBHOOK_RESPONSE_STORED_BYTES,
  WEBHOOK_RETRY_AFTER_MAX_MS,
} from '../../spec/webhookDelivery.ts';
import { type HttpResponse, sendRequest } from '../httpClient.ts';

/**
 * Number of idle connections from which a connection is closed after its request. There may be ten thousand receivers,
 * most of which get their next message long after the idle time.
 */
export const IDLE_CONNECTIONS_MAX = 256;

const IDLE_TIMEOUT_MS = 4_000;

/** Connections to receivers, kept for each origin between the messages of a burst. */
export interface WebhookConnections {
  readonly agent: Agent;
  /** Number of requests in progress. */
  requests: number;
  /** Number of open connections. */
  readonly open: number;
  /** True if the connection of the next request must close after it. */
  readonly isFull: boolean;
}

/**
 * @param lookup resolves names; undefined uses the system's resolver, which accepts every address.
 * @param tls authorities that are trusted instead of those of Node, for tests.
 */
export function createWebhookConnections(
  lookup: LookupFunction | undefined,
  tls: { ca?: string } = {},
): WebhookConnections {
  let open = 0;
  const connect = buildConnector({
    ...tls,
    timeout: WEBHOOK_ATTEMPT_TIMEOUT_MS,
    ...(lookup === undefined ? {} : { lookup }),
  });
  const agent = new Agent({
    // The number of attempts in flight is bounded by their caller.
    connections: null,
    pipelining: 1,
    keepAliveTimeout: IDLE_TIMEOUT_MS,
    keepAliveMaxTimeout: IDLE_TIMEOUT_MS,
    // The caller's signal limits the whole attempt.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (options, callback) =>
      connect(options, (...[error, socket]: Parameters<buildConnector.Callback>) => {
        if (error !== null) return callback(error, null);
        open += 1;
        socket.once('close', () => (open -= 1));
        return callback(null, socket);
      }),
  });
  return {
    agent,
    requests: 0,
    get open() {
      return open;
    },
    get isFull() {
      return open - this.requests >= IDLE_CONNECTIONS_MAX;
    },
  };
}

/** A message as one attempt sends it. */
export interface WebhookRequest {
  url: string;
  /** `webhook-id`, `webhook-timestamp` and `webhook-signature`. */
  headers: Record<string, string>;
  body: string;
}

/** The result of an attempt. It succeeded if there is no error. */
export interface AttemptResult {
  /** Status of the response; null if there was none. */
  status: number | null;
  /** Wait that the receiver asks for. */
  retryAfterMs?: number;
  /** Reason of the failure, in a few words. */
  error?: string;
  /** Beginning of the response as text; null if it is not text. Undefined for an empty one. */
  responseBody?: string | null;
}

/** Part of a response that is read, so that its connection can be used again, and the time for it. */
const RESPONSE_MAX_BYTES = 4 * 1024;
const RESPONSE_BODY_TIMEOUT_MS = 1_000;

const connections = perService(
  () => createWebhookConnections(config.WEBHOOK_ADDRESSES === 'any' ? undefined : resolvePublicAddress),
  ({ agent }) => agent.destroy(),
);

/**
 * Sends a message once, within 15 seconds. Redirects are not followed, and private addresses are rejected when the
 * connection is made, so that a name cannot be pointed elsewhere after the endpoint was created. Never rejects.
 * @param abort ends the attempt early when the caller aborts it.
 */
export async function postWebhook(
  message: WebhookRequest,
  abort = new AbortController(),
  { through = connections() }: { through?: WebhookConnections } = {},
): Promise<AttemptResult> {
  const problem = findAddressProblem(message.url);
  if (problem !== undefined) return { status: null, error: problem };
  let hasTimedOut = false;
  const timer = setTimeout(() => {
    hasTimedOut = true;
    abort.abort();
  }, WEBHOOK_ATTEMPT_TIMEOUT_MS);
  through.requests += 1;
  try {
    const response = await sendRequest(message.url, {
      dispatcher: through.agent,
      method: 'POST',
      headers: {
        ...message.headers,
        'content-type': 'application/json',
        accept: '*/*',
      },
      body: message.body,
      signal: abort.signal,
      reset: through.isFull,
    });
    clearTimeout(timer);
    const responseBody = decodeText(await readBeginning(response.body, abort));
    return { ...toResult(response), ...(responseBody === undefined ? {} : { responseBody }) };
  } catch (error) {
    return { status: null, error: hasTimedOut ? 'timeout' : abort.signal.aborted ? 'aborted' : describeFailure(error) };
  } finally {
    clearTimeout(timer);
    through.requests -= 1;
  }
}

/** Names are checked when they are resolved. An address is not resolved, so it is checked here. */
function findAddressProblem(address: string): string | undefined {
  if (!canParseUrl(address)) return 'invalid address';
  const { protocol, hostname } = new URL(address);
  if (protocol !== 'https:' && (protocol !== 'http:' || config.NODE_ENV === 'production')) return 'not https';
  const host = hostname.replace(/^\[|\]$/g, '');
  const isPrivate = config.WEBHOOK_ADDRESSES !== 'any' && isIP(host) !== 0 && isPrivateAddress(host);
  return isPrivate ? 'private address' : undefined;
}

/**
 * Reads a response and returns its beginning. A long or slow one is dropped with its connection: its status is known.
 */
async function readBeginning(body: HttpResponse['body'], abort: AbortController): Promise<Buffer> {
  const timer = setTimeout(() => abort.abort(), RESPONSE_BODY_TIMEOUT_MS);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    // Leaving the loop early closes the connection.
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > RESPONSE_MAX_BYTES) break;
    }
  } catch {
    // Aborted, or broken by the receiver.
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks).subarray(0, WEBHOOK_RESPONSE_STORED_BYTES);
}

/** Decodes UTF-8 whose last character may be cut. @returns null if it is not text; undefined if it is empty. */
function decodeText(bytes: Buffer): string | null | undefined {
  if (bytes.length === 0) return undefined;
  // Postgres does not store this character.
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return null;
  }
}

function toResult({ statusCode: status, headers }: HttpResponse): AttemptResult {
  if (status >= 200 && status < 300) return { status };
  const retryAfterMs = parseRetryAfterMs(headers['retry-after']);
  return {
    status,
    error: status >= 300 && status < 400 ? 'redirect' : `status ${status}`,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** Reasons why an attempt got no status, in words that owners of endpoints and staff can search for. */
const REASONS: readonly [RegExp, string][] = [
  [/^EPRIVATE$/, 'private address'],
  [/^(ETIMEDOUT|UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT)$/, 'timeout'],
  [/^ECONNREFUSED$/, 'connection refused'],
  [/^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/, 'unreachable'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET|ECONNABORTED)$/, 'reset'],
  [
    /^(ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|UNABLE_TO_|EPROTO|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH|CRL_|INVALID_CA)/,
    'TLS',
  ],
  [/^(UND_ERR_HEADERS_OVERFLOW|UND_ERR_INFO|UND_ERR_RES)/, 'invalid response'],
  [/^(ERR_INVALID_URL|UND_ERR_INVALID_ARG)$/, 'invalid address'],
];

interface NetworkError extends Error {
  code?: string;
  syscall?: string;
  errors?: NetworkError[];
}

/** Describes an error of an attempt in one or two words. */
function describeFailure(error: unknown): string {
  const { name, code, syscall, errors } = error as NetworkError;
  // Codes of the resolver overlap with those of connections.
  if (syscall !== undefined && /^(query|getaddrinfo)/.test(syscall)) return 'name not resolved';
  if (name === 'HTTPParserError') return 'invalid response';
  const known = REASONS.find(([codes]) => code !== undefined && codes.test(code));
  if (known !== undefined) return known[1];
  // The name has several addresses, and each failed.
  if (errors?.[0] !== undefined) return describeFailure(errors[0]);
  return 'connection failed';
}

/**
 * Parses a `Retry-After` header, in seconds or as a date, up to a day. @returns undefined if it is missing or invalid.
 */
function parseRetryAfterMs(header: string | string[] | undefined): number | undefined {
  const value = (Array.isArray(header) ? header[0] : header)?.trim() ?? '';
  const waitMs = /^\d+$/.test(value) ? Number(value) * 1_000 : parseHttpDate(value) - now().getTime();
  return Number.isNaN(waitMs) ? undefined : Math.min(WEBHOOK_RETRY_AFTER_MAX_MS, Math.max(0, waitMs));
}

/** Dates of HTTP start with the day of the week; `Date.parse` accepts much more. */
function parseHttpDate(value: string): number {
  return /^[A-Z][a-z]{2,8},? /.test(value) ? Date.parse(value) : Number.NaN;
}
