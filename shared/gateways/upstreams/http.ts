import { Agent, request } from 'undici';
import { config } from '../../lib/config.ts';
import { UpstreamError } from './upstream.ts';

export interface JsonAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** undefined where the body is not JSON. */
  body: unknown;
}

/** No honest answer of a queue is longer: outputs are asked for as addresses. */
const ANSWER_MAX_BYTES = 8 * 1024 * 1024;

const options = {
  headersTimeout: config.UPSTREAM_TIMEOUT_MS,
  bodyTimeout: config.UPSTREAM_TIMEOUT_MS,
  connect: { timeout: Math.min(5_000, config.UPSTREAM_TIMEOUT_MS) },
  maxResponseSize: ANSWER_MAX_BYTES,
};
// Submits never wait for a connection behind questions: their time would run out before they were sent.
const forSubmits = new Agent({ ...options, connections: config.UPSTREAM_CONCURRENCY });
const forQuestions = new Agent({ ...options, connections: 2 * config.UPSTREAM_CONCURRENCY });

/** Codes of errors that come before a request could have been read at the other end. */
const NEVER_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EPROTO|CERT_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|UNABLE_TO_\w+|ERR_TLS_\w+|UND_ERR_CONNECT_TIMEOUT|ERR_INVALID_URL)$/;

/**
 * One JSON exchange with an upstream, within the configured time.
 * @throws UpstreamError `unavailable` when the request was never sent, `unknown` when its answer was lost.
 */
export async function exchange(
  method: 'GET' | 'POST' | 'PUT',
  url: string,
  headers: Record<string, string>,
  body?: unknown,
): Promise<JsonAnswer> {
  try {
    const response = await request(url, {
      method,
      dispatcher: method === 'POST' ? forSubmits : forQuestions,
      headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(config.UPSTREAM_TIMEOUT_MS),
    });
    return { status: response.statusCode, headers: response.headers, body: parseJson(await response.body.text()) };
  } catch (error) {
    const { code = '', message } = error as Error & { code?: string };
    throw new UpstreamError(NEVER_SENT.test(code) ? 'unavailable' : 'unknown', message || code, { wasAnswered: false });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Lets go of idle connections, at the end of a process. */
export async function closeUpstreamConnections(): Promise<void> {
  await Promise.all([forSubmits.destroy(), forQuestions.destroy()]);
}
