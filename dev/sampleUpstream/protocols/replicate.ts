import { randomBytes } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { readInputImages } from '../inputImages.ts';
import type { Job } from '../jobStore.ts';
import { readImageRequest, readVideoRequest, type RenderRequest } from '../renderRequests.ts';
import { buildIssue, type InputIssue, readInteger, type RequestInput } from './inputValidation.ts';
import {
  asSubmitted,
  type CallbackContext,
  type JsonResponse,
  type Protocol,
  type ProtocolContext,
  type ProtocolRequest,
  RETRY_LATER,
} from './protocol.ts';
import { checkPrediction, isJson } from './publishedRules.ts';
import { isObject } from './requestBody.ts';

export const REPLICATE_NAMESPACE = 'replicate';
const IMAGE_FIELDS = { first: 'image', last: 'last_frame_image', references: ['reference_images', 'image_input'] };
const VIDEO_SECONDS = { min: 1, max: 15 };
const NOT_FOUND = replicateError(404, 'The requested resource could not be found.');

/** Replicate's predictions, for any model: the input distinguishes videos from images. */
export const REPLICATE_PROTOCOL: Protocol = {
  scheme: 'Bearer',
  unauthorized: replicateError(401, 'You did not pass a valid authentication token'),
  notFound: () => NOT_FOUND,
  routes: [
    {
      method: 'POST',
      path: /^\/v1\/models\/(?<owner>[^/]+)\/(?<name>[^/]+)\/predictions$/,
      operation: 'submit',
      respond: (context, request, { owner, name }) => createPrediction(context, request, `${owner}/${name}`),
    },
    {
      method: 'POST',
      path: /^\/v1\/predictions$/,
      operation: 'submit',
      respond: (context, request) => createPrediction(context, request, undefined),
    },
    {
      method: 'GET',
      path: /^\/v1\/predictions\/(?<id>[^/]+)$/,
      operation: 'status',
      respond: (context, _request, { id = '' }) => {
        const job = context.jobs.find(REPLICATE_NAMESPACE, id);
        return job ? { status: 200, body: buildPrediction(job, context) } : NOT_FOUND;
      },
    },
    {
      method: 'POST',
      path: /^\/v1\/predictions\/(?<id>[^/]+)\/cancel$/,
      operation: 'cancel',
      respond: (context, _request, { id = '' }) => {
        const job = context.jobs.find(REPLICATE_NAMESPACE, id);
        if (!job) return NOT_FOUND;
        context.jobs.cancel(job);
        return { status: 200, body: buildPrediction(job, context) };
      },
    },
    {
      method: 'GET',
      path: /^\/v1\/webhooks\/default\/secret$/,
      operation: 'keys',
      respond: ({ callbackKeys }) => ({ status: 200, body: { key: callbackKeys.secret } }),
    },
    {
      method: 'GET',
      path: /^\/v1\/models\/(?<owner>[^/]+)\/(?<name>[^/]+)$/,
      operation: 'probe',
      respond: (_context, _request, { owner, name }) => {
        const description = 'A sample model: a landscape with the prompt on it.';
        const about = { owner, name, description, visibility: 'public', run_count: 0, latest_version: null };
        return { status: 200, body: about };
      },
    },
  ],
};

/** @param model the model in the address; without one the body contains a version. */
function createPrediction(context: ProtocolContext, request: ProtocolRequest, model: string | undefined): JsonResponse {
  const { body } = request;
  if (!('input' in body) || !isJson(request)) {
    if ('problem' in body && body.problem === 'too large') return replicateError(413, 'The request body is too large.');
    return replicateError(400, 'The request body is not a JSON object.');
  }
  const { version, input, webhook } = body.input;
  if (model === undefined && typeof version !== 'string') {
    return inputError([buildIssue('version', 'missing', 'version is required', version)]);
  }
  if (!isObject(input)) return inputError([buildIssue('input', 'missing', 'input is required', input)]);
  const problems: InputIssue[] = [];
  checkPrediction(request, model !== undefined, problems);
  if (problems.length > 0) return inputError(problems);
  const issues: InputIssue[] = [];
  const images = readInputImages(input, IMAGE_FIELDS);
  const renderRequest = { ...readRenderRequest(input, issues), images };
  if (issues.length === 0 && context.rejects(renderRequest)) issues.push(sensitiveContentIssue(renderRequest.prompt));
  if (issues.length > 0) return inputError(issues.map((found) => ({ ...found, field: `input.${found.field}` })));
  const submission = { id: createPredictionId(), namespace: REPLICATE_NAMESPACE, model: model ?? String(version) };
  const callback = typeof webhook === 'string' ? { callbackUrl: webhook } : {};
  const job = context.jobs.submit({ ...submission, input, renderRequest, ...callback });
  if (!job) return replicateError(429, 'Request was throttled. Too many predictions are waiting.', RETRY_LATER);
  return { status: 201, body: buildPrediction(asSubmitted(job), context) };
}

function readRenderRequest(input: RequestInput, issues: InputIssue[]): RenderRequest {
  if (input['duration'] === undefined) return readImageRequest(input, 'num_outputs', issues);
  return readVideoRequest(input, readInteger(input, 'duration', VIDEO_SECONDS, 5, issues), issues);
}

export function buildPrediction(job: Job, { base, outputFields }: CallbackContext): object {
  const { outcome, submittedAt, startedAt, completedAt } = job;
  const address = `${base}/v1/predictions/${job.id}`;
  return {
    id: job.id,
    model: job.model,
    version: 'hidden',
    input: job.input,
    logs: startedAt === null ? '' : `rendering ${job.renderRequest.kind}\n`,
    output: buildOutput(job, base),
    data_removed: false,
    error: outcome?.kind === 'failed' && outcome.reason !== 'cancelled' ? outcome.message : null,
    status: getStatus(job),
    created_at: formatTimestamp(submittedAt),
    started_at: formatTimestamp(startedAt),
    completed_at: formatTimestamp(completedAt),
    urls: { get: address, cancel: `${address}/cancel`, web: address },
    ...(completedAt !== null && {
      metrics: {
        predict_time: (completedAt - (startedAt ?? completedAt)) / 1000,
        total_time: (completedAt - submittedAt) / 1000,
      },
    }),
    ...(outcome?.kind === 'succeeded' && outputFields),
  };
}

/** Returns the address of a video, or a list of addresses for images. */
function buildOutput({ outcome, renderRequest }: Job, base: string): string | string[] | null {
  if (outcome?.kind !== 'succeeded') return null;
  const addresses = outcome.files.map(({ name }) => `${base}/files/${name}`);
  return renderRequest.kind === 'video' ? addresses[0]! : addresses;
}

function getStatus({ outcome, startedAt }: Job): string {
  if (outcome?.kind === 'succeeded') return 'succeeded';
  if (outcome) return outcome.reason === 'cancelled' ? 'canceled' : 'failed';
  return startedAt === null ? 'starting' : 'processing';
}

function formatTimestamp(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

function replicateError(status: number, detail: string, headers?: Record<string, string>): JsonResponse {
  const title = status === 401 ? 'Unauthenticated' : STATUS_CODES[status];
  return { status, body: { title, detail, status }, headers };
}

/** 422: the model does not accept the input. */
function inputError(issues: InputIssue[]): JsonResponse {
  const body = {
    title: 'Input validation failed',
    detail: issues.map(({ field, msg }) => `- ${field}: ${msg}\n`).join(''),
    status: 422,
    invalid_fields: issues.map(({ field, type, msg }) => ({ type, field, description: msg })),
  };
  return { status: 422, body };
}

function sensitiveContentIssue(prompt: string): InputIssue {
  const msg = 'The input was flagged as sensitive. Please try again with different inputs. (E005)';
  return buildIssue('prompt', 'content_policy', msg, prompt);
}

/** Creates an id of 26 lowercase letters and digits, as at Replicate. */
function createPredictionId(): string {
  return Array.from(randomBytes(26), (byte) => (byte % 32).toString(32)).join('');
}
