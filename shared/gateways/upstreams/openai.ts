import { canParseUrl } from '../../lib/canParseUrl.ts';
import { now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { getContent, type HttpResponse } from '../httpClient.ts';
import { InvalidOutputError } from '../media/download.ts';
import { type JsonResponse, requestJson, requestStream } from './http.ts';
import { deleteImageFiles, getFileLimits, readImageResponse, type ResponseImage } from './imageResponse.ts';
import { toForm } from './requestBody.ts';
import {
  accountError,
  FAILURE_MESSAGES,
  getField,
  isFiltered,
  isSafeString,
  isSameOrigin,
  namesContent,
  NOT_ALLOWED_RESULT,
  probeError,
  toNonEmptyString,
  toSubmitError,
  truncateMessage,
  unavailableError,
  withRetryableErrors,
} from './responses.ts';
import {
  type CancelResult,
  type SubmitRequest,
  type SubmitResult,
  type Upstream,
  UpstreamError,
  type UpstreamHandle,
  type UpstreamOutput,
  type UpstreamProgress,
  type UpstreamResult,
} from './upstream.ts';
import type { UpstreamRoute } from './upstreamConfig.ts';

interface VideoHandle extends UpstreamHandle {
  id: string;
}

const COMPLETED_STATUSES = ['completed', 'succeeded'];
const FAILED_STATUSES = ['failed', 'cancelled', 'expired'];

/**
 * Adapter for OpenAI's Videos and Images APIs, which gateways, vLLM-Omni and SGLang implement as well. A video is
 * created, polled and downloaded; an image comes with the response, minutes later. Only some gateways honor the
 * idempotency key, so a submit whose response is lost has an unknown outcome.
 */
export function openaiUpstream({ upstream: { baseUrl, key, acceptsForm }, modelId, kind }: UpstreamRoute): Upstream {
  const credentials: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
  const headers = { ...credentials, accept: 'application/json' };
  const origin = new URL(baseUrl).origin;

  function getVideoUrl(handle: UpstreamHandle): string {
    return `${baseUrl}/videos/${encodeURIComponent((handle as VideoHandle).id)}`;
  }

  /** Builds the result of a run. Its addresses may be relative; those that are not valid are left out. */
  function toOutputResult(outputs: readonly UpstreamOutput[], response: unknown, filtered = 0): UpstreamResult {
    const [first, ...others] = outputs.flatMap((output) => {
      if ('file' in output) return { file: output.file };
      return canParseUrl(output.url, baseUrl) ? { url: new URL(output.url, baseUrl).href } : [];
    });
    if (first === undefined) return NO_OUTPUT_RESULT;
    return {
      state: 'succeeded',
      outputs: [first, ...others],
      ...(filtered > 0 ? { filtered } : {}),
      isWatermarked: getField(response, 'watermarked') === true,
    };
  }

  function getFileHeaders(url: string): Record<string, string> | undefined {
    return isSameOrigin(url, origin) ? credentials : undefined;
  }

  async function createVideo({ generationId, input, images = [] }: SubmitRequest): Promise<SubmitResult> {
    const body = { model: modelId, ...input };
    const response = await requestJson('POST', `${baseUrl}/videos`, {
      headers: { ...headers, 'idempotency-key': generationId },
      body: acceptsForm || images.length > 0 ? toForm(body, images, '[]') : body,
    });
    if (response.status < 300 && isFailedStatus(response.body)) return failedResult(response.body);
    const id = getField(response.body, 'id');
    if (response.status < 300 && isSafePathId(id)) return { state: 'accepted', handle: { id } satisfies VideoHandle };
    throw toOpenaiSubmitError(response);
  }

  async function poll(handle: UpstreamHandle): Promise<UpstreamProgress> {
    const response = await withRetryableErrors(() => requestJson('GET', getVideoUrl(handle), { headers }));
    if (response.status === 404) throw new UpstreamError('gone', 'The upstream does not have this video.');
    if (namesContent(response)) return failedResult(response.body);
    const status = toNonEmptyString(getField(response.body, 'status'));
    if (response.status !== 200 || status === undefined) throw unavailableError(response);
    if (isFailedStatus(response.body)) return failedResult(response.body);
    if (!COMPLETED_STATUSES.includes(status)) return { state: 'running' };
    if (isFiltered([response.body])) return NOT_ALLOWED_RESULT;
    // Not part of OpenAI's API: SGLang with a bucket does not serve its videos itself.
    const url = getField(response.body, 'url');
    return toOutputResult([{ url: isSafeString(url) ? url : `${getVideoUrl(handle)}/content` }], response.body);
  }

  /** Deletes the video. The API has no cancellation, and no response says whether the video was started. */
  async function cancel(handle: UpstreamHandle): Promise<CancelResult> {
    await requestJson('DELETE', getVideoUrl(handle), { headers });
    return 'unknown';
  }

  async function createImage(request: SubmitRequest): Promise<SubmitResult> {
    const { images = [] } = request;
    const body = { model: modelId, ...request.input };
    const options = {
      headers: { ...headers, 'idempotency-key': request.generationId },
      body: images.length > 0 ? toForm(body, images, '[]') : body,
      timeoutMs: Math.max(1, Math.min(config.UPSTREAM_SYNC_TIMEOUT_MS, request.deadlineAt.getTime() - now().getTime())),
    };
    const path = images.length > 0 ? 'images/edits' : 'images/generations';
    return requestStream('POST', `${baseUrl}/${path}`, options, async (response) => {
      try {
        return await parseImageResponse(response, request);
      } catch (error) {
        if (error instanceof InvalidOutputError) return INVALID_OUTPUT_RESULT;
        throw error;
      }
    });
  }

  async function parseImageResponse(response: HttpResponse, request: SubmitRequest): Promise<UpstreamResult> {
    const { statusCode: status, headers } = response;
    const { body, images } = await readImageResponse(
      getContent(response),
      () => request.newFile(),
      getFileLimits('image'),
    );
    const data = getField(body, 'data');
    const isAllowed = (item: unknown, entry: number) => !isFiltered([body, item], entry);
    const isUsed = ({ entry }: ResponseImage) => status === 200 && isAllowed(getField(data, String(entry)), entry);
    const used = images.filter(isUsed);
    await deleteImageFiles(images.filter((image) => !isUsed(image)));
    const entries = Array.isArray(data) ? data : [];
    if (used.length > 0) return toOutputResult(used, body, entries.length - entries.filter(isAllowed).length);
    if (status === 200 && isFiltered([body, getField(data, '0')])) return NOT_ALLOWED_RESULT;
    if (status === 200 && Array.isArray(data)) return NO_OUTPUT_RESULT;
    throw toOpenaiSubmitError({ status, headers, body }, { isSynchronous: true });
  }

  async function probe(): Promise<void> {
    const response = await withRetryableErrors(() => requestJson('GET', `${baseUrl}/models`, { headers }));
    // Some upstreams have no list of models and respond with 404 in JSON.
    const isUnderstood = typeof response.body === 'object' && response.body !== null;
    if (!isUnderstood || (response.status !== 200 && response.status !== 404)) throw probeError(response);
  }

  const isSynchronous = kind === 'image';
  return {
    kind,
    isSynchronous,
    submit: isSynchronous ? createImage : createVideo,
    poll,
    cancel,
    getFileHeaders,
    probe,
  };
}

function isFailedStatus(body: unknown): boolean {
  return FAILED_STATUSES.includes(toNonEmptyString(getField(body, 'status')) ?? '');
}

function failedResult(body: unknown): UpstreamResult {
  return { state: 'failed', message: describeOpenaiFailure(body) };
}

const NO_OUTPUT_RESULT: UpstreamResult = { state: 'failed', message: FAILURE_MESSAGES.noOutput };
const INVALID_OUTPUT_RESULT: UpstreamResult = { state: 'failed', message: FAILURE_MESSAGES.unusableOutput };

/** Returns true if a value is safe as a path segment. Dots alone would lead to another path. */
function isSafePathId(value: unknown): value is string {
  return isSafeString(value) && !/^\.+$/.test(value);
}

/** Errors of our account, which OpenAI reports with status 400 like an invalid request. */
const ACCOUNT_ERROR_CODE = /^(billing_|insufficient_quota|account_)/;
/** `moderation_blocked`, `content_policy_violation`, `content_filter`, ... */
const POLICY_ERROR_CODE = /moderation|content_?(policy|filter)|safety/i;
/** `server_error`, `InternalServerError`, vLLM-Omni's `500`, ... */
const SERVER_ERROR_CODE = /server_?error|internal_?error|^5\d\d$/i;

/** Classifies a submit without a video id and without output. */
function toOpenaiSubmitError(response: JsonResponse, how: { isSynchronous?: boolean } = {}): UpstreamError {
  const codes = getErrorCodes(response.body);
  if (codes.some((code) => ACCOUNT_ERROR_CODE.test(code))) return accountError(response);
  const isPolicyError =
    response.status >= 400 && response.status < 500 && codes.some((code) => POLICY_ERROR_CODE.test(code));
  return isPolicyError
    ? new UpstreamError('rejected', describeOpenaiFailure(response.body))
    : toSubmitError(response, describeOpenaiFailure, how);
}

/** Describes a failure for the customer. `detail` is the field of FastAPI, which serves vLLM-Omni and SGLang. */
function describeOpenaiFailure(body: unknown): string {
  const codes = getErrorCodes(body);
  if (codes.some((code) => POLICY_ERROR_CODE.test(code))) return FAILURE_MESSAGES.notAllowed;
  if (codes.some((code) => SERVER_ERROR_CODE.test(code))) return FAILURE_MESSAGES.brokeDown;
  const [error, detail] = [getField(body, 'error'), getField(body, 'detail')];
  const first: unknown = Array.isArray(detail) ? getField(detail[0], 'msg') : detail;
  const text = toNonEmptyString(getField(error, 'message')) ?? toNonEmptyString(error) ?? toNonEmptyString(first);
  return text === undefined ? FAILURE_MESSAGES.notMade : truncateMessage(text);
}

function getErrorCodes(body: unknown): string[] {
  const error = getField(body, 'error');
  return [getField(error, 'code'), getField(error, 'type')]
    .filter((code) => typeof code === 'string' || typeof code === 'number')
    .map(String);
}
