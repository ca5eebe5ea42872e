import { Agent, type Dispatcher, FormData, request } from 'undici';
import { config } from '../../lib/config.ts';
import { perService } from '../../lib/serviceScope.ts';
import { UpstreamError } from './upstream.ts';

export interface JsonResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** undefined where the body is not JSON. */
  body: unknown;
}

export interface UpstreamRequestOptions {
  headers: Record<string, string>;
  /** Sent as JSON, or as the form that it is. */
  body?: Record<string, unknown> | FormData;
  /** How long all of it may take. Default: UPSTREAM_TIMEOUT_MS. */
  timeoutMs?: number;
}

/** No honest answer of a queue is longer: outputs are asked for as addresses. */
const RESPONSE_MAX_BYTES = 8 * 1024 * 1024;

function newAgent(connections: number): Agent {
  return new Agent({
    // Bounded by each question's own time, and by its size where it is read whole.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: Math.min(5_000, config.UPSTREAM_TIMEOUT_MS) },
    connections,
  });
}

const agents = perService(() => ({
  // Submits never wait for a connection behind questions: their time would run out before they were sent.
  forSubmits: newAgent(config.UPSTREAM_CONCURRENCY),
  // Those that last until the output is there would hold every connection for minutes.
  forOutputs: newAgent(config.UPSTREAM_CONCURRENCY),
  forQuestions: newAgent(2 * config.UPSTREAM_CONCURRENCY),
}));

/** Codes of errors that come before a request could have been read at the other end. */
const NOT_SENT_CODES =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EPROTO|CERT_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|UNABLE_TO_\w+|ERR_TLS_\w+|UND_ERR_CONNECT_TIMEOUT|ERR_INVALID_URL)$/;

/**
 * One JSON exchange with an upstream, within the configured time.
 * @throws UpstreamError `unavailable` when the request was never sent, `unknown` when its answer was lost.
 */
export function requestJson(
  method: Dispatcher.HttpMethod,
  url: string,
  question: UpstreamRequestOptions,
): Promise<JsonResponse> {
  return requestStream(method, url, question, async (response) => ({
    status: response.statusCode,
    headers: response.headers,
    body: tryParseJson(await readText(response.body)),
  }));
}

/**
 * One exchange whose answer the caller reads as it comes.
 * @throws UpstreamError as `exchange`, also where `read` throws anything else.
 */
export async function requestStream<Read>(
  method: Dispatcher.HttpMethod,
  url: string,
  { headers, body, timeoutMs }: UpstreamRequestOptions,
  read: (response: Dispatcher.ResponseData) => Promise<Read>,
): Promise<Read> {
  const isJson = body !== undefined && !(body instanceof FormData);
  try {
    const response = await request(url, {
      method,
      dispatcher:
        agents()[timeoutMs === undefined ? (method === 'POST' ? 'forSubmits' : 'forQuestions') : 'forOutputs'],
      headers: isJson ? { ...headers, 'content-type': 'application/json' } : headers,
      body: isJson ? JSON.stringify(body) : body,
      signal: AbortSignal.timeout(timeoutMs ?? config.UPSTREAM_TIMEOUT_MS),
    });
    return await read(response);
  } catch (error) {
    if (error instanceof UpstreamError) throw error;
    const { code = '', message } = error as Error & { code?: string };
    throw new UpstreamError(NOT_SENT_CODES.test(code) ? 'unavailable' : 'unknown', message || code, {
      wasAnswered: false,
    });
  }
}

async function readText(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > RESPONSE_MAX_BYTES) throw new Error(`an answer of more than ${RESPONSE_MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Lets go of idle connections, at the end of a process. */
export async function closeUpstreamConnections(): Promise<void> {
  await Promise.all(Object.values(agents()).map((agent) => agent.destroy()));
}
