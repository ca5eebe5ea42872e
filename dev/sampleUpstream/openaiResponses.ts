import { type JsonResponse, RETRY_LATER } from './protocol.ts';
import type { InputIssue } from './inputValidation.ts';
import type { JobFailure, Job } from './jobStore.ts';

interface ErrorOptions {
  type?: string;
  param?: string | null;
  code?: string | null;
  headers?: Record<string, string>;
}

/** OpenAI's error envelope. */
export function openaiError(status: number, message: string, options: ErrorOptions = {}): JsonResponse {
  const { type = 'invalid_request_error', param = null, code = null, headers } = options;
  return { status, body: { error: { message, type, param, code } }, headers };
}

/** 400: reports the first of several invalid values. */
export function openaiInputError({ field, type, msg }: InputIssue): JsonResponse {
  if (type === 'missing') {
    const message = `Missing required parameter: '${field}'.`;
    return openaiError(400, message, { param: field, code: 'missing_required_parameter' });
  }
  return openaiError(400, `Invalid value for '${field}': ${msg}.`, { param: field, code: 'invalid_value' });
}

/** 400: the prompt was rejected by moderation. */
export function openaiModerationError(type: string): JsonResponse {
  const message = 'Your request was rejected by the safety system. Please change the prompt and try again.';
  return openaiError(400, message, { type, code: 'moderation_blocked' });
}

export function openaiRateLimitError(): JsonResponse {
  const options = { type: 'requests', code: 'rate_limit_exceeded', headers: RETRY_LATER };
  return openaiError(429, 'Too many requests are waiting.', options);
}

/** Codes of a video's `error`. A canceled video was deleted, and cannot be read. */
const FAILURE_CODES = {
  'nothing made': 'video_generation_failed',
  cancelled: 'cancelled',
  'broke down': 'server_error',
} as const satisfies Record<JobFailure['reason'], string>;

/** A video job in OpenAI's format. */
export function openaiVideoResponse(job: Job): JsonResponse {
  const { outcome, renderRequest, completedAt } = job;
  const hasSucceeded = outcome?.kind === 'succeeded';
  const body = {
    id: job.id,
    object: 'video',
    created_at: toUnixSeconds(job.submittedAt),
    status: getVideoStatus(job),
    completed_at: hasSucceeded ? toUnixSeconds(completedAt!) : null,
    expires_at: hasSucceeded ? toUnixSeconds(completedAt!) + 3600 : null,
    error: outcome?.kind === 'failed' ? { code: FAILURE_CODES[outcome.reason], message: outcome.message } : null,
    model: job.model,
    progress: hasSucceeded ? 100 : job.startedAt === null ? 0 : 50,
    prompt: renderRequest.prompt,
    remixed_from_video_id: null,
    seconds: renderRequest.kind === 'video' ? String(renderRequest.durationSeconds) : null,
    size: `${renderRequest.width}x${renderRequest.height}`,
    // OpenAI sends no such field; this upstream watermarks its output, and says so.
    ...(hasSucceeded && { watermarked: true }),
  };
  return { status: 200, body };
}

function getVideoStatus({ outcome, startedAt }: Job): string {
  if (outcome) return outcome.kind === 'succeeded' ? 'completed' : 'failed';
  return startedAt === null ? 'queued' : 'in_progress';
}

function toUnixSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
