import { type JsonAnswer, RETRY_LATER } from './answer.ts';
import type { InputIssue } from './input.ts';
import type { Failure, Job } from './jobs.ts';

interface ErrorOptions {
  type?: string;
  param?: string | null;
  code?: string | null;
  headers?: Record<string, string>;
}

/** OpenAI's envelope around everything that went wrong. */
export function refusal(status: number, message: string, options: ErrorOptions = {}): JsonAnswer {
  const { type = 'invalid_request_error', param = null, code = null, headers } = options;
  return { status, body: { error: { message, type, param, code } }, headers };
}

/** 400: of several wrong values the first one is told. */
export function unprocessable({ field, type, msg }: InputIssue): JsonAnswer {
  if (type === 'missing') {
    const message = `Missing required parameter: '${field}'.`;
    return refusal(400, message, { param: field, code: 'missing_required_parameter' });
  }
  return refusal(400, `Invalid value for '${field}': ${msg}.`, { param: field, code: 'invalid_value' });
}

/** 400: the prompt asks for what must not be made. */
export function flagged(type: string): JsonAnswer {
  const message = 'Your request was rejected by the safety system. Please change the prompt and try again.';
  return refusal(400, message, { type, code: 'moderation_blocked' });
}

export function tooMany(): JsonAnswer {
  const options = { type: 'requests', code: 'rate_limit_exceeded', headers: RETRY_LATER };
  return refusal(429, 'Too many requests are waiting.', options);
}

/** Codes of a video's `error`. A cancelled one was deleted, which leaves nobody to tell. */
const FAILURE_CODES = {
  'nothing made': 'video_generation_failed',
  cancelled: 'cancelled',
  'broke down': 'server_error',
} as const satisfies Record<Failure['reason'], string>;

/** A video job as OpenAI shows it. */
export function videoAnswer(job: Job): JsonAnswer {
  const { outcome, order, completedAt } = job;
  const hasSucceeded = outcome?.kind === 'succeeded';
  const body = {
    id: job.id,
    object: 'video',
    created_at: secondsOf(job.submittedAt),
    status: statusOf(job),
    completed_at: hasSucceeded ? secondsOf(completedAt!) : null,
    expires_at: hasSucceeded ? secondsOf(completedAt!) + 3600 : null,
    error: outcome?.kind === 'failed' ? { code: FAILURE_CODES[outcome.reason], message: outcome.message } : null,
    model: job.model,
    progress: hasSucceeded ? 100 : job.startedAt === null ? 0 : 50,
    prompt: order.prompt,
    remixed_from_video_id: null,
    seconds: order.kind === 'video' ? String(order.durationSeconds) : null,
    size: `${order.width}x${order.height}`,
    // OpenAI sends no such field; this upstream does stamp its work, and says so.
    ...(hasSucceeded && { watermarked: true }),
  };
  return { status: 200, body };
}

function statusOf({ outcome, startedAt }: Job): string {
  if (outcome) return outcome.kind === 'succeeded' ? 'completed' : 'failed';
  return startedAt === null ? 'queued' : 'in_progress';
}

function secondsOf(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
