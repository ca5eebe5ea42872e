import { parseRetryAfter } from './backoff.ts';
import { type ErrorCode, GenmeterError } from './errors.ts';

/** Error of an attempt without a complete response in its time. */
export function timeoutError(silent: string): GenmeterError {
  return new GenmeterError({ error: 'timeout', detail: `${silent} did not respond in time.` });
}

/** Error of a request without a response, from the error of `fetch`. */
export function networkError(cause: unknown, baseUrl: string): GenmeterError {
  // Node hides the reason behind "fetch failed".
  const reason = (cause as { cause?: { message?: string } }).cause?.message || (cause as Error).message;
  return new GenmeterError({
    error: 'network_error',
    detail: `No response from ${baseUrl}: ${reason.replace(/[.?!]+$/, '')}.`,
    cause,
  });
}

/**
 * Returns the parsed body of a successful response.
 * @throws GenmeterError for every other one.
 */
export function readResponse(response: Response, text: string): unknown {
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
    return `The service redirects. Set baseUrl to its final address${target === null ? '.' : `. The response names: ${target}`}`;
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
