import type { JsonResponse } from './protocol.ts';
import { type InputIssue, buildIssue } from './inputValidation.ts';
import type { JobFailure, Job } from './jobStore.ts';

const NOT_RETRYABLE = { 'X-Fal-Retryable': 'false' };

/** Status, message and type of a failed request in fal's result and status. */
const FAILURES = {
  'nothing made': { status: 422, type: 'no_media_generated' },
  cancelled: { status: 499, type: 'client_cancelled' },
  'broke down': { status: 500, type: 'internal_error' },
} as const satisfies Record<JobFailure['reason'], { status: number; type: string }>;

/** An error about the request as such: unknown address, missing key, too early. */
export function falError(status: number, detail: string, headers: Record<string, string> = {}): JsonResponse {
  return { status, body: { detail }, headers: { ...NOT_RETRYABLE, ...headers } };
}

/** 422: the model does not accept the input. */
export function falInputError(issues: InputIssue[]): JsonResponse {
  return { status: 422, body: { detail: issues.map(toErrorEntry) }, headers: NOT_RETRYABLE };
}

/** The response to a submission. */
export function falSubmitResponse(job: Job, base: string, queuePosition: number): JsonResponse {
  return {
    status: 200,
    body: { status: 'IN_QUEUE', ...buildRequestUrls(job, base), queue_position: queuePosition },
    headers: buildRequestIdHeader(job),
  };
}

/**
 * The response to a status request. As at fal a failed request is COMPLETED too, with `error` and `error_type` added.
 */
export function falStatusResponse(job: Job, base: string, queuePosition: number, showsLogs: boolean): JsonResponse {
  const common = { ...buildRequestUrls(job, base), logs: showsLogs ? buildLogLines(job) : null };
  const headers = buildRequestIdHeader(job);
  if (job.outcome) {
    const metrics = { inference_time: (job.completedAt! - (job.startedAt ?? job.completedAt!)) / 1000 };
    const failure =
      job.outcome.kind === 'failed'
        ? { error: job.outcome.message, error_type: FAILURES[job.outcome.reason].type }
        : {};
    return { status: 200, body: { status: 'COMPLETED', ...common, metrics, ...failure }, headers };
  }
  if (job.startedAt !== null) return { status: 202, body: { status: 'IN_PROGRESS', ...common }, headers };
  return { status: 202, body: { status: 'IN_QUEUE', ...common, queue_position: queuePosition }, headers };
}

/** The response to a request for the result: the media, or the error. */
export function falResultResponse(job: Job, base: string): JsonResponse {
  const headers = buildRequestIdHeader(job);
  if (!job.outcome) return falError(400, 'Request is still in progress', headers);
  if (job.outcome.kind === 'failed') {
    const { status } = FAILURES[job.outcome.reason];
    return { status, body: { detail: buildErrorDetail(job, job.outcome) }, headers: { ...NOT_RETRYABLE, ...headers } };
  }
  const { renderRequest } = job;
  const media = job.outcome.files.map((file) => ({
    url: `${base}/files/${file.name}`,
    content_type: file.contentType,
    file_name: file.name,
    file_size: file.sizeBytes,
  }));
  // The real models send no such field; this one watermarks its output, and says so.
  const marks = { watermarked: true };
  if (renderRequest.kind === 'video')
    return { status: 200, body: { video: media[0], seed: renderRequest.seed, ...marks }, headers };
  const images = media.map((image) => ({ ...image, width: renderRequest.width, height: renderRequest.height }));
  return { status: 200, body: { images, description: `Sample image of: ${renderRequest.prompt}`, ...marks }, headers };
}

/** One invalid value, as an entry of a 422's `detail`. */
function toErrorEntry({ field, type, msg, input, ctx }: InputIssue): object {
  const loc = field === '' ? ['body'] : ['body', field];
  return { loc, msg, type, input, url: `https://docs.fal.ai/errors#${type}`, ...(ctx && { ctx }) };
}

function buildErrorDetail({ renderRequest }: Job, { reason, message }: JobFailure): unknown {
  if (reason !== 'nothing made') return message;
  return [toErrorEntry(buildIssue('prompt', FAILURES[reason].type, message, renderRequest.prompt))];
}

function buildRequestUrls(job: Job, base: string): Record<string, string> {
  const response = `${base}/${job.model.split('/').slice(0, 2).join('/')}/requests/${job.id}`;
  return {
    request_id: job.id,
    response_url: response,
    status_url: `${response}/status`,
    cancel_url: `${response}/cancel`,
  };
}

function buildRequestIdHeader(job: Job): Record<string, string> {
  return { 'X-Fal-Request-Id': job.id };
}

function buildLogLines(job: Job): object[] {
  if (job.startedAt === null) return [];
  const timestamp = new Date(job.startedAt).toISOString();
  return [{ timestamp, level: 'INFO', source: 'USER', message: `rendering ${job.renderRequest.kind}` }];
}
