import type { JsonResponse } from './http.ts';
import { UpstreamError, type UpstreamResult } from './upstream.ts';
import { OUTPUTS_MAX } from '../../spec/catalog.ts';
import { MINUTE_MS } from '../../spec/durations.ts';
import { canParseUrl } from '../../lib/canParseUrl.ts';

/** Reads the JSON responses of upstreams, which are untrusted. */

/** Messages to customers about failures, the same for all upstreams. */
export const FAILURE_MESSAGES = {
  notAllowed: "The model's content policy does not allow this. Please change the prompt and try again.",
  brokeDown: 'The model failed while generating. Please try again.',
  tookTooLong: 'The model took too long. Please try again.',
  notStarted: 'The model did not start in time. Please try again.',
  cancelled: 'The generation was cancelled.',
  /** By the owner, before the model started. */
  canceledByOwner: 'Canceled.',
  noOutput: 'The model returned no output.',
  inputGone: 'An input image of this generation is no longer available.',
  unusableOutput: 'The model returned no usable output.',
  notMade: 'The model could not generate this.',
  notInTime: 'The model did not finish in time.',
  blocked: 'The provider refused this request. Please change the prompt and try again.',
  notConfirmed: 'The model did not confirm this generation. Please try again.',
} as const;

/** Result of a generation whose prompt or output the provider does not allow. */
export const NOT_ALLOWED_RESULT = { state: 'failed', message: FAILURE_MESSAGES.notAllowed } as const;

export function getField(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

export function toNonEmptyString(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Printable ASCII of a length that can be stored. */
const SAFE_STRING = /^[\x21-\x7e]{1,2000}$/;

/** Returns true if a value is safe to store as an id or an address. */
export function isSafeString(value: unknown): value is string {
  return typeof value === 'string' && SAFE_STRING.test(value);
}

const MESSAGE_MAX_CHARACTERS = 500;

/**
 * Truncates an upstream's message so that it can be stored and shown. Never returns the message of a cancellation by
 * the owner, by which ledger, metrics and invariants recognize one.
 */
export function truncateMessage(text: string): string {
  const message = text.replaceAll('\u0000', '').slice(0, MESSAGE_MAX_CHARACTERS).toWellFormed();
  return message === FAILURE_MESSAGES.canceledByOwner ? FAILURE_MESSAGES.cancelled : message;
}

/** Error for a failed query, or a submission that was certainly not accepted. */
export function unavailableError(response: JsonResponse): UpstreamError {
  return new UpstreamError('unavailable', describeStatus(response), { retryAfterMs: parseRetryAfterMs(response) });
}

export function describeStatus({ status }: JsonResponse): string {
  return `The upstream returned status ${status}.`;
}

/** Upper bound for the wait that an upstream requests. */
const RETRY_AFTER_MAX_MS = MINUTE_MS;

/** Parses the Retry-After header; 0 if it is missing or not in seconds. */
function parseRetryAfterMs({ headers }: JsonResponse): number {
  const header = headers['retry-after'];
  if (typeof header !== 'string' || !/^\d{1,6}(\.\d+)?$/.test(header)) return 0;
  return Math.min(RETRY_AFTER_MAX_MS, Math.ceil(Number(header) * 1_000));
}

/**
 * Error for a handle without an address of its upstream: another release wrote it, or the address of the upstream has
 * changed since. No later poll reads it, so the run counts as lost.
 */
export function unreadableHandleError(url: unknown): UpstreamError {
  return new UpstreamError('gone', `The handle is unreadable: ${String(url)} is not an address of this upstream.`);
}

/** Turns a lost response into `unavailable`: a query can be repeated, so its outcome is never unknown. */
export async function withRetryableErrors(send: () => Promise<JsonResponse>): Promise<JsonResponse> {
  try {
    return await send();
  } catch (error) {
    if (error instanceof UpstreamError && error.fault !== 'unknown') throw error;
    throw new UpstreamError('unavailable', (error as Error).message, { hasResponse: false });
  }
}

/** Statuses with which providers, and firewalls in front of them, refuse a request for its content. */
const CONTENT_STATUSES = [400, 403, 406, 422, 451];
const CONTENT_WORDS =
  /moderat|polic(y|ies)\b|content[ _-]?filter|guidelines|safety|sensitive|nsfw|violat|prohibited|inappropriate|flagged/i;
/** Also inside codes, such as `insufficient_quota`. */
const ACCOUNT_WORDS =
  /(?<![a-z])(accounts?|organi[sz]ation|billing|balance|credits?|payment|quota|locked|authentication|credentials?|(api|access)[ _-]?key)(?![a-z])/i;

/** Returns true if a rejection names content. One that names our account as well may be about the account. */
export function namesContent(response: JsonResponse): boolean {
  const text = listErrorTexts(response.body).join(' ');
  return CONTENT_STATUSES.includes(response.status) && CONTENT_WORDS.test(text) && !namesAccount(response);
}

function namesAccount({ body }: JsonResponse): boolean {
  return ACCOUNT_WORDS.test(listErrorTexts(body).join(' '));
}

/** Lists the codes and sentences of an error. Excludes fields that may repeat the prompt. */
function listErrorTexts(body: unknown): string[] {
  const names = ['code', 'type', 'error_type', 'reason', 'title', 'message', 'msg', 'detail', 'error'];
  const detail = getField(body, 'detail');
  const sources = [body, getField(body, 'error'), ...(Array.isArray(detail) ? (detail as unknown[]) : [])];
  return sources
    .flatMap((source) => [source, ...names.map((name) => getField(source, name))])
    .filter((value) => typeof value === 'string');
}

/**
 * Classifies the response to a submission that was not accepted. 400 and 422 always reject this request. For other
 * statuses the words of the body come first: providers use them for prompts and for accounts alike. A 403, 405, 406 or
 * 451 without words about our account rejects this request, too: a firewall in front of the provider that blocks a
 * prompt names no reason, in HTML or in JSON.
 * @param describeRejection builds the message to the customer for a submission that is rejected for good.
 */
export function toSubmitError(
  response: JsonResponse,
  describeRejection: (body: unknown) => string,
  { isSynchronous = false } = {},
): UpstreamError {
  const { status, body } = response;
  if (status === 400 || status === 422) return new UpstreamError('rejected', describeRejection(body));
  if (namesContent(response)) return new UpstreamError('rejected', FAILURE_MESSAGES.notAllowed);
  if (BLOCK_STATUSES.includes(status) && !namesAccount(response))
    return new UpstreamError('rejected', FAILURE_MESSAGES.blocked);
  if (ACCOUNT_ERROR_STATUSES.includes(status)) return accountError(response);
  const isLate = status < 300 || TIMEOUT_STATUSES.includes(status);
  // A synchronous submit may fail at any time during the run.
  const isBroken = isSynchronous && status >= 500 && status !== 503;
  return isLate || isBroken ? new UpstreamError('unknown', describeStatus(response)) : unavailableError(response);
}

/** Statuses of proxies that received no response, or an invalid one. */
const TIMEOUT_STATUSES = [408, 499, 504, 520, 524];
/** Statuses with which firewalls block a request. */
const BLOCK_STATUSES = [403, 405, 406, 451];
const ACCOUNT_ERROR_STATUSES = [401, 402, 403];

/** Error for a failed probe, which carries our key and nothing of a customer. */
export function probeError(response: JsonResponse): UpstreamError {
  const isAccountError = ACCOUNT_ERROR_STATUSES.includes(response.status) && response.body !== undefined;
  return isAccountError ? accountError(response) : unavailableError(response);
}

/** Error of our account at the upstream, which accepts nothing until an operator fixes it. */
export function accountError(response: JsonResponse): UpstreamError {
  return new UpstreamError('unavailable', describeStatus(response), {
    isAccountError: true,
    retryAfterMs: parseRetryAfterMs(response),
  });
}

/**
 * Fields by which providers say that a safety filter replaced an output, mostly by a black one. Lists have one for
 * each.
 */
const FILTER_FIELDS = ['has_nsfw_concepts', 'has_nsfw_concept', 'nsfw_content_detected', 'is_nsfw', 'content_filtered'];

/**
 * Returns true if a successful response, or an output in it, says that a safety filter replaced the output.
 * @param index place of the output among those of the response.
 */
export function isFiltered(sources: readonly unknown[], index = 0): boolean {
  return sources.some((source) => {
    const getOwn = (name: string): unknown => {
      const value = getField(source, name);
      return Array.isArray(value) ? value[index] : value;
    };
    const reason = toNonEmptyString(getOwn('finish_reason') ?? getOwn('finishReason')) ?? '';
    return FILTER_FIELDS.some((name) => getOwn(name) === true) || /filter|safety/i.test(reason);
  });
}

/**
 * Builds the result of a run from the addresses of its files. What is not a text is left out.
 * @param filtered number of files that a safety filter replaced.
 */
export function toResult(urls: readonly unknown[], isWatermarked: boolean, filtered = 0): UpstreamResult {
  const [first, ...others] = urls
    .filter((url): url is string => toNonEmptyString(url) !== undefined)
    .slice(0, OUTPUTS_MAX)
    .map((url) => ({ url }));
  if (first === undefined) return { state: 'failed', message: FAILURE_MESSAGES.noOutput };
  return { state: 'succeeded', outputs: [first, ...others], ...(filtered > 0 ? { filtered } : {}), isWatermarked };
}

export function isSameOrigin(url: unknown, origin: string): boolean {
  return typeof url === 'string' && canParseUrl(url) && new URL(url).origin === origin;
}
