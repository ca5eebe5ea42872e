import type { JsonResponse } from './http.ts';
import { UpstreamError } from './upstream.ts';

/** What adapters do with the JSON that they are answered, none of which is to be believed. */

/** What customers are told of the ways in which a job can fail, whoever the upstream is. */
export const FAILURE_MESSAGES = {
  notAllowed: "The model's content policy does not allow this. Please change the prompt and try again.",
  brokeDown: 'The model broke down over this job. Please try again.',
  tookTooLong: 'The model took too long over this job. Please try again.',
  notStarted: 'The model did not start in time. Please try again.',
  cancelled: 'The job was cancelled.',
  noOutput: 'The model returned no output.',
  unusableOutput: 'The model returned no usable output.',
  notMade: 'The model could not make this.',
} as const;

export function getField(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

export function toNonEmptyString(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Nothing that could not be stored, or that would be a burden to. */
const SAFE_STRING = /^[\x21-\x7e]{1,2000}$/;

/** Whether something may be an id or an address. */
export function isSafeString(value: unknown): value is string {
  return typeof value === 'string' && SAFE_STRING.test(value);
}

const MESSAGE_MAX_CHARACTERS = 500;

/** An upstream's words, cut down to what can be stored and shown. */
export function truncateMessage(text: string): string {
  return text.replaceAll('\u0000', '').slice(0, MESSAGE_MAX_CHARACTERS).toWellFormed();
}

/** The question was not answered, or a submission surely not accepted. */
export function unavailableError(response: JsonResponse): UpstreamError {
  return new UpstreamError('unavailable', describeStatus(response), { retryAfterMs: parseRetryAfterMs(response) });
}

export function describeStatus({ status }: JsonResponse): string {
  return `The upstream answered ${status}.`;
}

/** A wait of more than this is no answer to a customer. */
const RETRY_AFTER_MAX_MS = 60_000;

/** What the header Retry-After says; 0 where it does not say it in seconds. */
function parseRetryAfterMs({ headers }: JsonResponse): number {
  const header = headers['retry-after'];
  if (typeof header !== 'string' || !/^\d{1,6}(\.\d+)?$/.test(header)) return 0;
  return Math.min(RETRY_AFTER_MAX_MS, Math.ceil(Number(header) * 1_000));
}

/** A question whose answer is lost can be asked again: nothing is unknown about it. */
export async function withRetryableErrors(send: () => Promise<JsonResponse>): Promise<JsonResponse> {
  try {
    return await send();
  } catch (error) {
    if (error instanceof UpstreamError && error.fault === 'unavailable') throw error;
    throw new UpstreamError('unavailable', (error as Error).message, { wasAnswered: false });
  }
}

/**
 * What became of a submission that was not answered with a receipt.
 * @param describeRejection what to tell the customer, of a submission that will never be taken.
 */
export function toSubmitError(
  response: JsonResponse,
  describeRejection: (body: unknown) => string,
  { isSynchronous = false } = {},
): UpstreamError {
  const { status } = response;
  if (status === 400 || status === 422) return new UpstreamError('refused', describeRejection(response.body));
  if (ACCOUNT_ERROR_STATUSES.includes(status)) return accountError(response);
  const isLate = status < 300 || TIMEOUT_STATUSES.includes(status);
  // What lasts until the output is there may break at any time of its run.
  const isBroken = isSynchronous && status >= 500 && status !== 503;
  return isLate || isBroken ? new UpstreamError('unknown', describeStatus(response)) : unavailableError(response);
}

/** Said by whatever stands between: it waited for an answer in vain, or got one that it did not understand. */
const TIMEOUT_STATUSES = [408, 499, 504, 520, 524];
const ACCOUNT_ERROR_STATUSES = [401, 402, 403];

/** Something is wrong with our account there: no job will be taken until somebody has seen to it. */
export function accountError(response: JsonResponse): UpstreamError {
  return new UpstreamError('unavailable', describeStatus(response), {
    isAccountError: true,
    retryAfterMs: parseRetryAfterMs(response),
  });
}

export function isSameOrigin(url: unknown, origin: string): boolean {
  return typeof url === 'string' && URL.canParse(url) && new URL(url).origin === origin;
}
