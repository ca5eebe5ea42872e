import type { ModelKind } from '../../spec/catalog.ts';
import {
  describeStatus,
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
  type PollOptions,
  type SubmitResult,
  type Upstream,
  UpstreamError,
  type UpstreamHandle,
  type SubmitRequest,
  type UpstreamProgress,
} from './upstream.ts';

interface FalAddresses {
  response_url: string;
  status_url: string;
  cancel_url: string;
}

/** A request of the queue: its id, and those of its addresses that do not follow from the id. */
interface FalHandle extends UpstreamHandle, Partial<FalAddresses> {
  request_id: string;
}

type FalReceipt = FalAddresses & { request_id: string };

/** Request id that the probe asks for. A working queue responds that it does not exist. */
const UNKNOWN_REQUEST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Adapter for fal's queue: submits a request, polls the addresses that the submission returns, and fetches the result.
 * A poll of a run that may have ended asks for the result first, which saves the request for the status. The queue has
 * no idempotency key, so a submit whose response is lost has an unknown outcome.
 */
export function falUpstream({ upstream: { baseUrl, key }, modelId, kind }: UpstreamRoute): Upstream {
  const headers = { authorization: `Key ${key}`, accept: 'application/json' };
  const origin = new URL(baseUrl).origin;
  // fal addresses the requests of all paths of an app by owner and app, without the path.
  const app = modelId.split('/').slice(0, 2).join('/');

  /** Sends a request with our key, to the origin of the queue only. */
  function sendToOrigin(method: 'GET' | 'PUT', url: string): Promise<JsonResponse> {
    if (!isSameOrigin(url, origin)) throw unreadableHandleError(url);
    return requestJson(method, url, { headers });
  }

  /** Returns the addresses in a handle, and the usual ones in the place of those that it does not contain. */
  function getAddresses({ request_id: id, ...stored }: FalHandle): FalAddresses {
    const { response_url = `${baseUrl}/${app}/requests/${id}` } = stored;
    const { status_url = `${response_url}/status`, cancel_url = `${response_url}/cancel` } = stored;
    return { response_url, status_url, cancel_url };
  }

  /** Every change of a generation's row may write the handle again, so it contains only what cannot be derived. */
  function buildHandle({ request_id, ...addresses }: FalReceipt): FalHandle {
    const handle: FalHandle = { request_id };
    for (const name of ADDRESSES) {
      if (getAddresses(handle)[name] !== addresses[name]) handle[name] = addresses[name];
    }
    return handle;
  }

  async function submit({ input, callbackUrl }: SubmitRequest): Promise<SubmitResult> {
    const query = callbackUrl === undefined ? '' : `?fal_webhook=${encodeURIComponent(callbackUrl)}`;
    const response = await requestJson('POST', `${baseUrl}/${modelId}${query}`, { headers, body: input });
    if (response.status === 200 && isFalReceipt(response.body, origin))
      return { state: 'accepted', handle: buildHandle(response.body) };
    if (response.status >= 500 && isFinal(response))
      throw new UpstreamError('rejected', describeFalFailure(response.body));
    throw toSubmitError(response, describeFalFailure);
  }

  async function poll(handle: UpstreamHandle, options?: PollOptions): Promise<UpstreamProgress> {
    const { status_url: statusUrl, response_url: responseUrl } = getAddresses(handle as FalHandle);
    if (options?.mayHaveEnded === true) {
      const early = await withRetryableErrors(() => sendToOrigin('GET', responseUrl));
      const progress = parseEarlyResult(early, kind);
      if (progress !== undefined) return progress;
    }
    const status = await withRetryableErrors(() => sendToOrigin('GET', statusUrl));
    if (status.status === 202) return parseFalProgress(status.body);
    if (status.status === 404) throw new UpstreamError('gone', 'The upstream does not have this request.');
    if (status.status !== 200 || getField(status.body, 'status') === undefined) throw unavailableError(status);
    if (getField(status.body, 'status') !== 'COMPLETED') return parseFalProgress(status.body);
    const result = await withRetryableErrors(() => sendToOrigin('GET', responseUrl));
    if (result.status === 200) return parseFalOutput(result.body, kind);
    if (isResultMissing(result)) throw new UpstreamError('gone', describeStatus(result));
    if (isResultUnavailable(result, status)) throw unavailableError(result);
    return { state: 'failed', message: describeFalFailure(result.body, status.body) };
  }

  /**
   * A 200 with `OK` confirms that the request was removed from the queue. Others say that a signal was sent, or
   * nothing.
   */
  async function cancel(handle: UpstreamHandle): Promise<CancelResult> {
    const response = await sendToOrigin('PUT', getAddresses(handle as FalHandle).cancel_url);
    return response.status === 200 && getField(response.body, 'status') === 'OK' ? 'did_not_run' : 'unknown';
  }

  async function probe(): Promise<void> {
    const response = await withRetryableErrors(() =>
      sendToOrigin('GET', `${baseUrl}/${app}/requests/${UNKNOWN_REQUEST_ID}/status`),
    );
    const isUnderstood = response.status < 500 && ![401, 402, 403, 429].includes(response.status);
    if (!isUnderstood || response.body === undefined) throw probeError(response);
  }

  return { kind, isSynchronous: false, submit, poll, cancel, getFileHeaders, probe };
}

/** Files are public to anyone with the address. */
const getFileHeaders = () => undefined;

function parseFalProgress(body: unknown): UpstreamProgress {
  return getField(body, 'status') === 'IN_QUEUE' ? { state: 'running', isWaiting: true } : { state: 'running' };
}

/** Error detail of a result that is requested before the run has ended. */
const STILL_IN_PROGRESS = 'Request is still in progress';

/**
 * Parses a result that was requested without a status before it. Undefined if it is not clear what the response means:
 * fal documents results of completed requests only, and passes on the errors of models, so the status decides.
 */
function parseEarlyResult({ status, body }: JsonResponse, kind: ModelKind): UpstreamProgress | undefined {
  if (status === 400 && getField(body, 'detail') === STILL_IN_PROGRESS) return { state: 'running' };
  const output = status === 200 ? parseFalOutput(body, kind) : undefined;
  return output?.state === 'succeeded' ? output : undefined;
}

/**
 * Returns true if fal marks an error as one that would repeat for the same request. It documents two headers for that.
 */
function isFinal({ headers }: JsonResponse): boolean {
  return ['x-fal-retryable', 'x-fal-needs-retry'].some((name) => /^(false|0|no)$/i.test(String(headers[name])));
}

/** Returns true if a result is the answer of the model, whose status codes fal passes on. */
function isModelError(result: JsonResponse): boolean {
  return (
    getErrorType(result.body) !== undefined || Array.isArray(getField(result.body, 'detail')) || namesContent(result)
  );
}

/** Returns true if there is no result for a completed request, and no reason. It may appear a moment later. */
function isResultMissing(result: JsonResponse): boolean {
  return [401, 403, 404].includes(result.status) && !isModelError(result);
}

/** Returns true if the queue did not return the result, as opposed to a failed request without one. */
function isResultUnavailable(result: JsonResponse, status: JsonResponse): boolean {
  if ([408, 429].includes(result.status)) return true;
  if (result.status < 500 || isFinal(result)) return false;
  return toNonEmptyString(getField(status.body, 'error')) === undefined && !isModelError(result);
}

function parseFalOutput(body: unknown, kind: ModelKind): UpstreamProgress {
  const images = getField(body, 'images');
  const files: unknown[] = kind === 'video' ? [getField(body, 'video')] : Array.isArray(images) ? images : [];
  const allowed = files.filter((file, index) => !isFiltered([body, file], index));
  if (allowed.length === 0 && isFiltered([body, files[0]])) return NOT_ALLOWED_RESULT;
  return toResult(
    allowed.map((file) => getField(file, 'url')),
    getField(body, 'watermarked') === true,
    files.length - allowed.length,
  );
}

/** Customer messages by error type (`type` in a model's error, `error_type` in the queue's). */
const MESSAGE_BY_ERROR_TYPE = new Map<string, string>(
  Object.entries({
    content_policy_violation: FAILURE_MESSAGES.notAllowed,
    no_media_generated: 'The model could not generate what was asked for. Please change the prompt and try again.',
    generation_timeout: FAILURE_MESSAGES.tookTooLong,
    request_timeout: FAILURE_MESSAGES.tookTooLong,
    startup_timeout: FAILURE_MESSAGES.tookTooLong,
    client_cancelled: FAILURE_MESSAGES.cancelled,
    client_disconnected: FAILURE_MESSAGES.brokeDown,
    downstream_service_error: FAILURE_MESSAGES.brokeDown,
    downstream_service_unavailable: FAILURE_MESSAGES.brokeDown,
    internal_server_error: FAILURE_MESSAGES.brokeDown,
    internal_error: FAILURE_MESSAGES.brokeDown,
  }),
);

/** Describes a failure. `detail` is a sentence with an `error_type` beside it, or a list of `{ type, msg }`. */
function describeFalFailure(body: unknown, status?: unknown): string {
  const type = getErrorType(body) ?? getErrorType(status) ?? '';
  const knownMessage = MESSAGE_BY_ERROR_TYPE.get(type);
  if (knownMessage !== undefined) return knownMessage;
  if (type.startsWith('runner_')) return FAILURE_MESSAGES.brokeDown;
  const detail = getField(body, 'detail');
  const messages = Array.isArray(detail)
    ? detail.map((entry) => toNonEmptyString(getField(entry, 'msg')))
    : [toNonEmptyString(detail)];
  const text = messages.filter((message) => message !== undefined).join('; ');
  return text === '' ? FAILURE_MESSAGES.notMade : truncateMessage(text);
}

function getErrorType(body: unknown): string | undefined {
  const detail = getField(body, 'detail');
  return (
    toNonEmptyString(getField(body, 'error_type')) ??
    toNonEmptyString(getField(Array.isArray(detail) ? detail[0] : undefined, 'type'))
  );
}

/** In this order, since the others follow from the first. */
const ADDRESSES = ['response_url', 'status_url', 'cancel_url'] as const;

function isFalReceipt(body: unknown, origin: string): body is FalReceipt {
  return (
    ['request_id', ...ADDRESSES].every((name) => isSafeString(getField(body, name))) &&
    ADDRESSES.every((name) => isSameOrigin(getField(body, name), origin))
  );
}
