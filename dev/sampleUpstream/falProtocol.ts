import { randomUUID } from 'node:crypto';
import {
  type ProtocolResponse,
  hasApiKey,
  type ProtocolHandler,
  type ProtocolRequest,
  RETRY_LATER,
  type SampleContext,
} from './protocol.ts';
import { parseRequestBody } from './requestBody.ts';
import { falError, falResultResponse, falStatusResponse, falSubmitResponse, falInputError } from './falResponses.ts';
import { type RequestInput, type InputIssue, buildIssue, readChoice } from './inputValidation.ts';
import type { Job, JobStore } from './jobStore.ts';
import { shouldReject, readImageRequest, readVideoRequest, type RenderRequest } from './renderRequests.ts';

const REQUEST_PATH = /^\/([^/]+\/[^/]+)\/requests\/([^/]+)(?:\/(status|cancel))?$/;
const MODEL_ID = /^[\w.-]+(\/[\w.-]+)+$/;
const VIDEO_DURATIONS = ['4', '5', '6', '7', '8', '9', '10', '11', '12'] as const;

/** fal's queue, for any model: submit, status, result, cancel. Every request needs a key. */
export function createFalProtocol({ base, jobs }: SampleContext): ProtocolHandler {
  return async (question) => {
    const { method, path, query } = question;
    if (!hasApiKey(question, 'Key')) return falError(401, 'Authentication is required to access this application.');
    const match = REQUEST_PATH.exec(path);
    if (!match) return submitFalRequest(question, path.slice(1), jobs, base);
    const [, app, id, verb] = match;
    const job = jobs.find(`fal ${app}`, id!);
    if (!job) return falError(404, `Request ${id} not found`);
    const call = `${method} ${verb ?? 'result'}`;
    if (call === 'GET status') return falStatusResponse(job, base, jobs.queuePosition(job), query.get('logs') === '1');
    if (call === 'GET result') return falResultResponse(job, base);
    if (call === 'PUT cancel') return cancelFalRequest(job, jobs);
    return falError(405, 'Method Not Allowed');
  };
}

async function submitFalRequest(
  question: ProtocolRequest,
  model: string,
  jobs: JobStore,
  base: string,
): Promise<ProtocolResponse> {
  if (!MODEL_ID.test(model)) return falError(404, `Application '${model}' not found`);
  if (question.method !== 'POST') return falError(405, 'Method Not Allowed');
  const body = await parseRequestBody(question.request);
  if (!('input' in body)) {
    if (body.problem === 'too large') return falError(413, 'Request body is too large');
    return falInputError([buildIssue('', 'json_invalid', 'JSON decode error', null)]);
  }
  const issues: InputIssue[] = [];
  const renderRequest = readFalRequest(model, body.input, issues);
  if (issues.length > 0) return falInputError(issues);
  if (shouldReject(renderRequest)) return falInputError([falContentPolicyIssue(renderRequest.prompt)]);
  // fal stores the requests of all paths of an app together: owner and app, without the path.
  const namespace = `fal ${model.split('/').slice(0, 2).join('/')}`;
  const job = jobs.submit({ id: randomUUID(), namespace, model, input: body.input, renderRequest });
  if (!job) return falError(429, 'Too many requests are waiting', RETRY_LATER);
  return falSubmitResponse(job, base, jobs.queuePosition(job));
}

/** Distinguishes video from image models by their name or their input. */
function readFalRequest(model: string, input: RequestInput, issues: InputIssue[]): RenderRequest {
  if (!model.endsWith('-to-video') && input['duration'] === undefined) {
    return readImageRequest(input, 'num_images', issues);
  }
  return readVideoRequest(input, Number(readChoice(input, 'duration', VIDEO_DURATIONS, '5', issues)), issues);
}

function cancelFalRequest(job: Job, jobs: JobStore): ProtocolResponse {
  const headers = { 'X-Fal-Request-Id': job.id };
  if (jobs.cancel(job)) return { status: 202, body: { status: 'CANCELLATION_REQUESTED' }, headers };
  return { status: 400, body: { status: 'ALREADY_COMPLETED' }, headers };
}

function falContentPolicyIssue(prompt: string): InputIssue {
  const msg = 'The content could not be processed because it contained material flagged by a content checker.';
  return buildIssue('prompt', 'content_policy_violation', msg, prompt);
}
