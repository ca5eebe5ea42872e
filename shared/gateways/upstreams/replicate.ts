import { now } from '../../lib/clock.ts';
import {
  FAILURE_MESSAGES,
  getField,
  isFiltered,
  isSafeString,
  isSameOrigin,
  namesContent,
  NOT_ALLOWED_RESULT,
  probeError,
  toNonEmptyString,
  toResult,
  toSubmitError,
  truncateMessage,
  unavailableError,
  unreadableHandleError,
  withRetryableErrors,
} from './responses.ts';
import { requestJson, type JsonResponse } from './http.ts';
import type { UpstreamRoute } from './upstreamConfig.ts';
import {
  type CancelResult,
  type SubmitResult,
  type Upstream,
  UpstreamError,
  type UpstreamHandle,
  type SubmitRequest,
  type UpstreamProgress,
} from './upstream.ts';

interface ReplicateHandle extends UpstreamHandle {
  id: string;
  get_url: string;
  cancel_url: string;
}

/** Lifetimes of a prediction that Replicate accepts. */
const LIFETIME_SECONDS = { min: 5, max: 24 * 3_600 };

const NO_SUCH_VERSION = 'Invalid version or not permitted';

/**
 * Adapter for Replicate's predictions: creates one and polls it until the response contains the output. A model is
 * `owner/name` (an official one) or `owner/name:version`. There is no idempotency key, so a create whose response is
 * lost has an unknown outcome; Replicate stops such a prediction at the generation's deadline.
 */
export function replicateUpstream({ upstream: { baseUrl, key }, modelId, kind }: UpstreamRoute): Upstream {
  const headers = { authorization: `Bearer ${key}`, accept: 'application/json' };
  const origin = new URL(baseUrl).origin;
  const [model, version] = modelId.split(':');

  /** Sends a request with our key, to the origin of Replicate only. */
  function sendToOrigin(method: 'GET' | 'POST', url: string): Promise<JsonResponse> {
    if (!isSameOrigin(url, origin)) throw unreadableHandleError(url);
    return requestJson(method, url, { headers });
  }

  async function submit({ input, deadlineAt, callbackUrl }: SubmitRequest): Promise<SubmitResult> {
    const callback = callbackUrl === undefined ? {} : { webhook: callbackUrl, webhook_events_filter: ['completed'] };
    const response = await requestJson(
      'POST',
      `${baseUrl}${version === undefined ? `/models/${model}` : ''}/predictions`,
      {
        headers: { ...headers, 'cancel-after': `${secondsUntil(deadlineAt)}s` },
        body: { ...(version === undefined ? {} : { version }), input, ...callback },
      },
    );
    const id = getField(response.body, 'id');
    if ([200, 201, 202].includes(response.status) && isSafeString(id)) {
      const progress = parseProgress(response.body);
      return progress.state === 'running' ? { state: 'accepted', handle: buildHandle(id, response.body) } : progress;
    }
    if (response.status === 429) throw unavailableError(withRetryAfter(response));
    // The configured version does not exist, which a customer cannot fix.
    if (response.status === 422 && getField(response.body, 'title') === NO_SUCH_VERSION)
      throw unavailableError(response);
    throw toSubmitError(response, describeReplicateRejection);
  }

  /** Builds the handle. An address that is missing, or not Replicate's, is derived from the id. */
  function buildHandle(id: string, receipt: unknown): ReplicateHandle {
    const getUrl = (name: string, otherwise: string): string => {
      const url = getField(getField(receipt, 'urls'), name);
      return isSafeString(url) && isSameOrigin(url, origin) ? url : otherwise;
    };
    const own = `${baseUrl}/predictions/${encodeURIComponent(id)}`;
    return { id, get_url: getUrl('get', own), cancel_url: getUrl('cancel', `${own}/cancel`) };
  }

  async function poll(handle: UpstreamHandle): Promise<UpstreamProgress> {
    const response = await withRetryableErrors(() => sendToOrigin('GET', (handle as ReplicateHandle).get_url));
    if (response.status === 404) throw new UpstreamError('gone', 'The upstream does not have this prediction.');
    if (namesContent(response)) return NOT_ALLOWED_RESULT;
    if (response.status !== 200 || toNonEmptyString(getField(response.body, 'status')) === undefined)
      throw unavailableError(response);
    return parseProgress(response.body);
  }

  /** Most files are on a separate host, and public to anyone with the address. Files of the API itself need the key. */
  function getFileHeaders(url: string): Record<string, string> | undefined {
    return isSameOrigin(url, origin) ? { authorization: headers.authorization } : undefined;
  }

  /** The response is the prediction. One that says that it was canceled without a start never ran. */
  async function cancel(handle: UpstreamHandle): Promise<CancelResult> {
    const { status, body } = await sendToOrigin('POST', (handle as ReplicateHandle).cancel_url);
    const isCanceled = ['canceled', 'aborted'].includes(toNonEmptyString(getField(body, 'status')) ?? '');
    return status === 200 && isCanceled && getField(body, 'started_at') === null ? 'did_not_run' : 'unknown';
  }

  async function probe(): Promise<void> {
    const response = await withRetryableErrors(() => sendToOrigin('GET', `${baseUrl}/models/${model}`));
    const { status, body } = response;
    if (status !== 200 || typeof body !== 'object' || body === null || Array.isArray(body)) throw probeError(response);
  }

  return { kind, isSynchronous: false, submit, poll, cancel, getFileHeaders, probe };
}

function parseProgress(prediction: unknown): UpstreamProgress {
  switch (getField(prediction, 'status')) {
    case 'succeeded':
      if (isFiltered([prediction, getField(prediction, 'output')])) return NOT_ALLOWED_RESULT;
      return parseOutput(prediction);
    case 'failed':
      return { state: 'failed', message: describeReplicateFailure(toNonEmptyString(getField(prediction, 'error'))) };
    case 'canceled':
      return { state: 'failed', message: FAILURE_MESSAGES.cancelled };
    case 'aborted':
      return { state: 'failed', message: FAILURE_MESSAGES.notStarted };
    case 'starting':
      // Replicate leaves out the time of the start until there is one.
      return getField(prediction, 'started_at') == null ? { state: 'running', isWaiting: true } : { state: 'running' };
    default:
      return { state: 'running' };
  }
}

/** Models that leave out an image that their safety checker found say so in the log only. */
const FILTERED_LOG_LINE = /^NSFW content detected in image \d+$/gm;

function parseOutput(prediction: unknown): UpstreamProgress {
  const output = getField(prediction, 'output');
  const filtered = toNonEmptyString(getField(prediction, 'logs'))?.match(FILTERED_LOG_LINE)?.length;
  const isWatermarked = getField(prediction, 'watermarked') === true;
  return toResult(Array.isArray(output) ? output : [output], isWatermarked, filtered);
}

/** Rounds up: the service ends the generation at its deadline, and Replicate's limit is only a safeguard. */
function secondsUntil(deadlineAt: Date): number {
  const seconds = Math.ceil((deadlineAt.getTime() - now().getTime()) / 1_000);
  return Math.min(LIFETIME_SECONDS.max, Math.max(LIFETIME_SECONDS.min, seconds));
}

/** Adds a missing Retry-After header from the body, where the seconds are a field or part of a sentence. */
function withRetryAfter(response: JsonResponse): JsonResponse {
  const bodySeconds = getField(response.body, 'retry_after');
  const detailSeconds = /resets in ~?(\d+)s/.exec(toNonEmptyString(getField(response.body, 'detail')) ?? '')?.[1];
  const seconds = typeof bodySeconds === 'number' ? String(bodySeconds) : detailSeconds;
  return seconds === undefined ? response : { ...response, headers: { 'retry-after': seconds, ...response.headers } };
}

/** Customer messages by the text of an error. The first match applies. */
const MESSAGE_BY_ERROR_PATTERN: [RegExp, string][] = [
  [/nsfw|sensitive|safety|moderation|polic(y|ies)\b|\bE005\b/i, FAILURE_MESSAGES.notAllowed],
  [/out of memory|timed?[ -]?out|interrupted|(code: |\()PA\)|\bE\d{3,4}\b/i, FAILURE_MESSAGES.brokeDown],
];

function describeReplicateFailure(text: string | undefined): string {
  if (text === undefined || text.trim() === '') return FAILURE_MESSAGES.notMade;
  return MESSAGE_BY_ERROR_PATTERN.find(([words]) => words.test(text))?.[1] ?? truncateMessage(text.trim());
}

/** Describes a rejection. `detail` is a sentence; an invalid input adds a list of fields with descriptions. */
function describeReplicateRejection(body: unknown): string {
  const fields = [getField(body, 'invalid_fields'), getField(body, 'detail')].find(Array.isArray) ?? [];
  const descriptions = fields.map((field: unknown) =>
    toNonEmptyString(getField(field, 'description') ?? getField(field, 'msg')),
  );
  const text = descriptions.filter((description) => description !== undefined).join('; ');
  return describeReplicateFailure(
    toNonEmptyString(text) ?? toNonEmptyString(getField(body, 'detail')) ?? toNonEmptyString(getField(body, 'title')),
  );
}
