import { randomUUID } from 'node:crypto';
import { readInputImages } from '../inputImages.ts';
import type { Job, JobFailure } from '../jobStore.ts';
import { readImageRequest, readVideoRequest, type RenderRequest } from '../renderRequests.ts';
import { buildIssue, type InputIssue, readChoice, type RequestInput } from './inputValidation.ts';
import { checkFalRequest, isJson } from './publishedRules.ts';
import {
  type CallbackContext,
  type JsonResponse,
  type Protocol,
  type ProtocolContext,
  type ProtocolRequest,
  RETRY_LATER,
  type Route,
} from './protocol.ts';

const VIDEO_DURATIONS = ['4', '5', '6', '7', '8', '9', '10', '11', '12'] as const;
const IMAGE_FIELDS = { first: 'image_url', last: 'end_image_url', references: ['image_urls'] };
const NOT_RETRYABLE = { 'X-Fal-Retryable': 'false' };

/** Status and type of a failed request in fal's result and status. */
const FAILURES = {
  'nothing made': { status: 422, type: 'no_media_generated' },
  'invalid input': { status: 422, type: 'value_error' },
  cancelled: { status: 499, type: 'client_cancelled' },
  'broke down': { status: 500, type: 'internal_error' },
} as const satisfies Record<JobFailure['reason'], { status: number; type: string }>;

/** fal's queue, for any model: submit, status, result, cancel. */
export const FAL_PROTOCOL: Protocol = {
  scheme: 'Key',
  unauthorized: falError(401, 'Authentication is required to access this application.'),
  notFound: ({ path }) => falError(404, `Application '${path.slice(1)}' not found`),
  routes: [
    {
      method: 'POST',
      path: /^\/(?<model>(?!.*\/requests\/)[\w.-]+(\/[\w.-]+)+)$/,
      operation: 'submit',
      respond: (context, request, { model = '' }) => submit(context, request, model),
    },
    requestRoute('GET', 'status', '/status', (job, { base, jobs }, { query }) =>
      buildStatus(job, base, jobs.queuePosition(job), query.get('logs') === '1'),
    ),
    requestRoute('GET', 'result', '', buildResult),
    requestRoute('PUT', 'cancel', '/cancel', (job, { jobs }) => {
      // A request that has not started is removed from the queue, which the status 200 confirms.
      const removed = { status: 200, body: { status: 'OK' } };
      const signaled = { status: 202, body: { status: 'CANCELLATION_REQUESTED' } };
      const response = job.startedAt === null ? removed : signaled;
      return jobs.cancel(job) ? response : { status: 400, body: { status: 'ALREADY_COMPLETED' } };
    }),
  ],
};

/** A route of an existing request. */
function requestRoute(
  method: string,
  operation: Route['operation'],
  suffix: string,
  respond: (job: Job, context: ProtocolContext, request: ProtocolRequest) => JsonResponse,
): Route {
  return {
    method,
    path: new RegExp(`^/(?<app>[^/]+/[^/]+)/requests/(?<id>[^/]+)${suffix}$`),
    operation,
    respond: (context, request, { app, id = '' }) => {
      const job = context.jobs.find(`fal ${app}`, id);
      if (!job) return falError(404, `Request ${id} not found`);
      const { headers, ...response } = respond(job, context, request);
      return { ...response, headers: { ...buildRequestIdHeader(job), ...headers } };
    },
  };
}

function submit(context: ProtocolContext, request: ProtocolRequest, model: string): JsonResponse {
  const { body, query } = request;
  if (!('input' in body) || !isJson(request)) {
    if ('problem' in body && body.problem === 'too large') return falError(413, 'Request body is too large');
    return inputError([buildIssue('', 'json_invalid', 'JSON decode error', null)]);
  }
  const issues: InputIssue[] = [];
  checkFalRequest(model, request, issues);
  const images = readInputImages(body.input, IMAGE_FIELDS);
  const renderRequest = { ...readRenderRequest(model, body.input, issues), images };
  if (issues.length === 0 && context.rejects(renderRequest)) issues.push(contentPolicyIssue(renderRequest.prompt));
  if (issues.length > 0) return inputError(issues);
  const namespace = `fal ${getApp(model)}`;
  const callbackUrl = query.get('fal_webhook');
  const callback = callbackUrl === null ? {} : { callbackUrl };
  const job = context.jobs.submit({
    id: randomUUID(),
    namespace,
    model,
    input: body.input,
    renderRequest,
    ...callback,
  });
  if (!job) return falError(429, 'Too many requests are waiting', RETRY_LATER);
  const place = { queue_position: context.jobs.queuePosition(job) };
  const receipt = { status: 'IN_QUEUE', ...buildRequestUrls(job, context.base), ...place };
  return { status: 200, body: receipt, headers: buildRequestIdHeader(job) };
}

/** Distinguishes video from image models by their name or their input. */
function readRenderRequest(model: string, input: RequestInput, issues: InputIssue[]): RenderRequest {
  if (!model.endsWith('-to-video') && input['duration'] === undefined) {
    return readImageRequest(input, 'num_images', issues);
  }
  return readVideoRequest(input, Number(readChoice(input, 'duration', VIDEO_DURATIONS, '5', issues)), issues);
}

/** Builds a status. As at fal a failed request is COMPLETED too, with `error` and `error_type` added. */
function buildStatus(job: Job, base: string, queuePosition: number, showsLogs: boolean): JsonResponse {
  const common = { ...buildRequestUrls(job, base), logs: showsLogs ? buildLogLines(job) : null };
  const { outcome, startedAt, completedAt } = job;
  if (outcome) {
    const metrics = { inference_time: (completedAt! - (startedAt ?? completedAt!)) / 1000 };
    const failure =
      outcome.kind === 'failed' ? { error: outcome.message, error_type: FAILURES[outcome.reason].type } : {};
    return { status: 200, body: { status: 'COMPLETED', ...common, metrics, ...failure } };
  }
  if (startedAt !== null) return { status: 202, body: { status: 'IN_PROGRESS', ...common } };
  return { status: 202, body: { status: 'IN_QUEUE', ...common, queue_position: queuePosition } };
}

/** Builds the result: the media, or the error. */
function buildResult({ outcome, renderRequest }: Job, { base, outputFields }: CallbackContext): JsonResponse {
  if (!outcome) return falError(400, 'Request is still in progress');
  if (outcome.kind === 'failed') {
    const { status, type } = FAILURES[outcome.reason];
    if (status === 422) return inputError([buildIssue('prompt', type, outcome.message, renderRequest.prompt)]);
    return falError(status, outcome.message);
  }
  const media = outcome.files.map((file) => ({
    url: `${base}/files/${file.name}`,
    content_type: file.contentType,
    file_name: file.name,
    file_size: file.sizeBytes,
  }));
  if (renderRequest.kind === 'video') {
    return { status: 200, body: { video: media[0], seed: renderRequest.seed, ...outputFields } };
  }
  const images = media.map((image) => ({ ...image, width: renderRequest.width, height: renderRequest.height }));
  return { status: 200, body: { images, description: `Image of: ${renderRequest.prompt}`, ...outputFields } };
}

/** Builds the body of a call-back: the result, or the error. */
export function buildFalCallback(job: Job, context: CallbackContext): object {
  const { status, body: payload } = buildResult(job, context);
  const outcome = status === 200 ? { status: 'OK' } : { status: 'ERROR', error: `Invalid status code: ${status}` };
  return { request_id: job.id, gateway_request_id: job.id, ...outcome, payload };
}

function falError(status: number, detail: string, headers: Record<string, string> = {}): JsonResponse {
  return { status, body: { detail }, headers: { ...NOT_RETRYABLE, ...headers } };
}

/** 422: the model does not accept the input. */
function inputError(issues: InputIssue[]): JsonResponse {
  const detail = issues.map(({ field, type, msg, input, ctx }) => {
    const loc = field === '' ? ['body'] : ['body', field];
    return { loc, msg, type, input, url: `https://docs.fal.ai/errors#${type}`, ...(ctx && { ctx }) };
  });
  return { status: 422, body: { detail }, headers: NOT_RETRYABLE };
}

function contentPolicyIssue(prompt: string): InputIssue {
  const msg = 'The content could not be processed because it contained material flagged by a content checker.';
  return buildIssue('prompt', 'content_policy_violation', msg, prompt);
}

/** Returns owner and app, without the path: fal stores the requests of all paths of an app together. */
function getApp(model: string): string {
  return model.split('/').slice(0, 2).join('/');
}

function buildRequestUrls({ id, model }: Job, base: string): Record<string, string> {
  const url = `${base}/${getApp(model)}/requests/${id}`;
  return { request_id: id, response_url: url, status_url: `${url}/status`, cancel_url: `${url}/cancel` };
}

function buildRequestIdHeader({ id }: Job): Record<string, string> {
  return { 'X-Fal-Request-Id': encodeURIComponent(id) };
}

function buildLogLines({ startedAt, renderRequest }: Job): object[] {
  if (startedAt === null) return [];
  const timestamp = new Date(startedAt).toISOString();
  return [{ timestamp, level: 'INFO', source: 'USER', message: `rendering ${renderRequest.kind}` }];
}
