import { randomBytes } from 'node:crypto';
import type { Job, JobFailure } from '../jobStore.ts';
import { type InputIssue, readChoice, type RequestInput } from './inputValidation.ts';
import { readModel, readOpenaiImageRequest, readOpenaiVideoRequest } from './openaiInput.ts';
import { checkGptImage } from './publishedRules.ts';
import {
  asSubmitted,
  type JsonResponse,
  type Protocol,
  type ProtocolContext,
  type ProtocolResponse,
  RETRY_LATER,
  type Route,
} from './protocol.ts';

const NAMESPACE = 'openai';
const IMAGE_ERROR_TYPE = 'image_generation_user_error';

/** Codes of a video's `error`. A canceled video was deleted, and cannot be read. */
const FAILURE_CODES = {
  'nothing made': 'video_generation_failed',
  'invalid input': 'invalid_value',
  cancelled: 'cancelled',
  'broke down': 'server_error',
} as const satisfies Record<JobFailure['reason'], string>;

/** OpenAI's videos, which are jobs, and its images, which are returned in the response. */
export const OPENAI_PROTOCOL: Protocol = {
  scheme: 'Bearer',
  unauthorized: openaiError(401, "You didn't provide an API key. Use an Authorization header: Bearer YOUR_KEY."),
  notFound: ({ method, path }) => openaiError(404, `Invalid URL (${method} ${path})`),
  routes: [
    submitRoute(/^\/v1\/videos$/, createVideo),
    submitRoute(/^\/v1\/images\/(generations|edits)$/, createImages),
    videoRoute('GET', 'status', '', (job, { outputFields }) => buildVideo(job, outputFields)),
    videoRoute('GET', 'file', '/content', ({ id, outcome }) =>
      outcome?.kind === 'succeeded'
        ? { file: outcome.files[0]!.name }
        : openaiError(400, `Video is not ready: see GET /v1/videos/${id}.`),
    ),
    videoRoute('DELETE', 'cancel', '', (job, { jobs }) => {
      jobs.remove(job);
      return { status: 200, body: { id: job.id, object: 'video.deleted', deleted: true } };
    }),
    {
      method: 'GET',
      path: /^\/v1\/models$/,
      operation: 'probe',
      respond: () => {
        const model = { id: 'sample', object: 'model', created: 0, owned_by: 'sample' };
        return { status: 200, body: { object: 'list', data: [model] } };
      },
    },
  ],
};

function submitRoute(
  path: RegExp,
  respond: (context: ProtocolContext, input: RequestInput) => ProtocolResponse | Promise<ProtocolResponse>,
): Route {
  return {
    method: 'POST',
    path,
    operation: 'submit',
    respond: (context, { body }) => {
      if ('input' in body) return respond(context, body.input);
      if (body.problem === 'too large') return openaiError(413, 'The request body is too large.');
      return openaiError(400, 'We could not parse the body of your request: it must be a JSON object or a form.');
    },
  };
}

/** A route of an existing video. */
function videoRoute(
  method: string,
  operation: Route['operation'],
  suffix: string,
  respond: (job: Job, context: ProtocolContext) => ProtocolResponse,
): Route {
  return {
    method,
    path: new RegExp(`^/v1/videos/(?<id>[^/]+)${suffix}$`),
    operation,
    respond: (context, _request, { id = '' }) => {
      const job = context.jobs.find(NAMESPACE, id);
      if (!job) return openaiError(404, `Video with id '${id}' not found.`, { param: 'video_id' });
      return respond(job, context);
    },
  };
}

function createVideo({ jobs, rejects }: ProtocolContext, input: RequestInput): ProtocolResponse {
  const issues: InputIssue[] = [];
  const renderRequest = readOpenaiVideoRequest(input, issues);
  const model = readModel(input, issues);
  if (issues[0]) return inputError(issues[0]);
  if (rejects(renderRequest)) return moderationError('video_generation_user_error');
  const job = jobs.submit({ id: createId('video'), namespace: NAMESPACE, model, input, renderRequest });
  return job ? buildVideo(asSubmitted(job)) : rateLimitError();
}

/** Renders before it responds, which can take more than a minute. */
async function createImages(context: ProtocolContext, input: RequestInput): Promise<ProtocolResponse> {
  const { base, jobs, rejects, readFile, outputFields } = context;
  const issues: InputIssue[] = [];
  const renderRequest = readOpenaiImageRequest(input, issues);
  checkGptImage(input, issues);
  const model = readModel(input, issues);
  const form = readChoice(input, 'response_format', ['b64_json', 'url'], 'b64_json', issues);
  if (issues[0]) return inputError(issues[0]);
  if (rejects(renderRequest)) return moderationError(IMAGE_ERROR_TYPE);
  const job = jobs.submit({ id: createId('img'), namespace: NAMESPACE, model, input, renderRequest });
  if (!job) return rateLimitError();
  const outcome = await jobs.waitForEnd(job);
  if (outcome.kind === 'failed') {
    if (outcome.reason === 'broke down') return openaiError(500, outcome.message, { type: 'server_error' });
    return openaiError(400, outcome.message, { type: IMAGE_ERROR_TYPE, code: 'no_image_generated' });
  }
  const { format, width, height } = renderRequest;
  const created = toUnixSeconds(job.completedAt!);
  const about = { created, output_format: format, size: `${width}x${height}`, ...outputFields };
  const names = outcome.files.map(({ name }) => name);
  if (form === 'url')
    return { status: 200, body: { ...about, data: names.map((name) => ({ url: `${base}/files/${name}` })) } };
  const contents = await Promise.all(names.map(readFile));
  jobs.remove(job);
  return { status: 200, body: { ...about, data: contents.map((file) => ({ b64_json: file.toString('base64') })) } };
}

function buildVideo(job: Job, outputFields: object = {}): JsonResponse {
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
    ...(hasSucceeded && outputFields),
  };
  return { status: 200, body };
}

function getVideoStatus({ outcome, startedAt }: Job): string {
  if (outcome) return outcome.kind === 'succeeded' ? 'completed' : 'failed';
  return startedAt === null ? 'queued' : 'in_progress';
}

/** OpenAI's error envelope. */
function openaiError(
  status: number,
  message: string,
  { headers, ...fields }: { type?: string; param?: string; code?: string; headers?: Record<string, string> } = {},
): JsonResponse {
  const error = { message, type: 'invalid_request_error', param: null, code: null, ...fields };
  return { status, body: { error }, headers };
}

/** 400: reports the first of several invalid values. */
function inputError({ field, type, msg }: InputIssue): JsonResponse {
  if (type === 'missing') {
    const message = `Missing required parameter: '${field}'.`;
    return openaiError(400, message, { param: field, code: 'missing_required_parameter' });
  }
  return openaiError(400, `Invalid value for '${field}': ${msg}.`, { param: field, code: 'invalid_value' });
}

/** 400: the prompt was rejected by moderation. */
function moderationError(type: string): JsonResponse {
  const message = 'Your request was rejected by the safety system. Please change the prompt and try again.';
  return openaiError(400, message, { type, code: 'moderation_blocked' });
}

function rateLimitError(): JsonResponse {
  const options = { type: 'requests', code: 'rate_limit_exceeded', headers: RETRY_LATER };
  return openaiError(429, 'Too many requests are waiting.', options);
}

function createId(prefix: string): string {
  return `${prefix}_${randomBytes(24).toString('hex')}`;
}

function toUnixSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
