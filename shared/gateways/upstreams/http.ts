import { Agent, type Dispatcher } from 'undici';
import { tryParseBoundedJson } from '../../lib/boundedJson.ts';
import { config } from '../../lib/config.ts';
import { perService } from '../../lib/serviceScope.ts';
import { type HttpResponse, readText, sendRequest } from '../httpClient.ts';
import { type BodyProgress, buildReadError, encodeBody, type InlineImages, type RequestBody } from './requestBody.ts';
import { getRequestTrace } from './requestTrace.ts';
import { UpstreamError } from './upstream.ts';

export interface JsonResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** undefined if the body is not JSON, or not within the bounds of {@link tryParseBoundedJson}. */
  body: unknown;
}

export interface UpstreamRequestOptions {
  headers: Record<string, string>;
  body?: RequestBody;
  /** Images that are part of the body. */
  inlineImages?: InlineImages;
  /**
   * Limit for request and response. Restarts with each part of a body that contains images. Default:
   * UPSTREAM_TIMEOUT_MS.
   */
  timeoutMs?: number;
}

/** Upper bound for a valid response, without the outputs that it contains. */
export const RESPONSE_MAX_BYTES = 8 * 1024 * 1024;

const getAgent = perService(
  () =>
    // The slots of execution bound the requests in progress: one that waited for a connection could run out of time.
    new Agent({
      // Each request has its own time limit, and a size limit where the response is read whole.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: Math.min(5_000, config.UPSTREAM_TIMEOUT_MS) },
    }),
  (open) => open.destroy(),
);

/**
 * Reports the moment at which a connection starts to send a request. Until then, the upstream can have received
 * nothing: the name was not found, the connection or its TLS handshake failed, or the time was over before it was open.
 */
function observeStart(dispatcher: Dispatcher, onStart: () => void): Dispatcher {
  return dispatcher.compose((dispatch) => (options, handler) => {
    const start = handler.onRequestStart?.bind(handler);
    handler.onRequestStart = (controller, context: unknown) => {
      start?.(controller, context);
      // A request whose time is over is aborted here, before its first byte.
      if (!controller.aborted) onStart();
    };
    return dispatch(options, handler);
  });
}

/**
 * Sends a request and reads the response as JSON, within the configured time.
 * @throws UpstreamError `unavailable` if the request was never sent, `unknown` if its response was lost.
 */
export function requestJson(
  method: Dispatcher.HttpMethod,
  url: string,
  options: UpstreamRequestOptions,
): Promise<JsonResponse> {
  return requestStream(method, url, options, async (response) => {
    const { statusCode: status, headers } = response;
    if (isFileResponse(response)) {
      // Closes the connection: the file is downloaded when it is needed.
      response.body.on('error', () => {}).destroy();
      return { status, headers, body: undefined };
    }
    return { status, headers, body: await readJson(response) };
  });
}

/** Reads a response as JSON. @returns undefined if it is not JSON, or not within bounds. */
export async function readJson(response: HttpResponse): Promise<unknown> {
  const body = tryParseBoundedJson(await readText(response, RESPONSE_MAX_BYTES));
  getRequestTrace()?.onBody(body);
  return body;
}

/** Returns true if a response says that it is an image, a video or another file. */
export function isFileResponse({ headers }: HttpResponse): boolean {
  return /^(?:image|video|audio)\/|^application\/octet-stream/i.test(String(headers['content-type'] ?? ''));
}

/**
 * Sends a request whose response the caller reads as a stream.
 * @throws UpstreamError as {@link requestJson}, also if `read` throws another error; `unavailable` if an image of the
 *   body cannot be read.
 */
export async function requestStream<Read>(
  method: Dispatcher.HttpMethod,
  url: string,
  { headers, body, inlineImages, timeoutMs }: UpstreamRequestOptions,
  read: (response: HttpResponse) => Promise<Read>,
): Promise<Read> {
  const trace = getRequestTrace();
  let isStarted = false;
  let progress: BodyProgress = 'sent';
  const limit = new AbortController();
  const timer = setTimeout(
    () => limit.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')),
    timeoutMs ?? config.UPSTREAM_TIMEOUT_MS,
  );
  const isWaitingFor = (state: BodyProgress) => progress === state;
  const setProgress = (next: BodyProgress) => {
    progress = next;
    timer.refresh();
  };
  try {
    trace?.onRequest({ method, url, headers, ...(body === undefined ? {} : { body, inlineImages }) });
    const encoded = body === undefined ? undefined : encodeBody(body, inlineImages, setProgress);
    const response = await sendRequest(url, {
      method,
      dispatcher: observeStart(getAgent(), () => {
        isStarted = true;
      }),
      headers: { ...encoded?.headers, ...headers },
      body: encoded?.content ?? null,
      signal: limit.signal,
    });
    trace?.onResponse({ status: response.statusCode, headers: response.headers });
    return await read(response);
  } catch (error) {
    if (error instanceof UpstreamError) throw error;
    // The time limit says whose fault it is; the upstream may close the connection at any moment.
    if (limit.signal.aborted && isWaitingFor('reading')) throw buildReadError(error as Error);
    const { code = '', message } = error as Error & { code?: string };
    // An upstream cannot have accepted a request whose end it does not have.
    const fault = isStarted && isWaitingFor('sent') ? 'unknown' : 'unavailable';
    throw new UpstreamError(fault, message || code, { hasResponse: false });
  } finally {
    clearTimeout(timer);
  }
}
