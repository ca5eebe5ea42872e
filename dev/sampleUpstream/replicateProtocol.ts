import { randomBytes } from 'node:crypto';
import {
  type ProtocolResponse,
  hasApiKey,
  type ProtocolHandler,
  type ProtocolRequest,
  RETRY_LATER,
  type SampleContext,
} from './protocol.ts';
import { isObject, parseRequestBody } from './requestBody.ts';
import { type RequestInput, type InputIssue, buildIssue, readInteger } from './inputValidation.ts';
import type { JobStore } from './jobStore.ts';
import { shouldReject, readImageRequest, readVideoRequest, type RenderRequest } from './renderRequests.ts';
import { buildPrediction, replicateError, replicateInputError } from './replicateResponses.ts';

const NAMESPACE = 'replicate';
const MODEL_PATH = /^\/v1\/models\/([^/]+)\/([^/]+)(\/predictions)?$/;
const PREDICTION_PATH = /^\/v1\/predictions\/([^/]+)(\/cancel)?$/;
const VIDEO_SECONDS = { min: 1, max: 15 };

/** Replicate's predictions, for any model: the input distinguishes videos from images. Every request needs a key. */
export function createReplicateProtocol(surroundings: SampleContext): ProtocolHandler {
  return async (question) => {
    const { method, path } = question;
    if (!hasApiKey(question, 'Bearer')) return replicateError(401, 'You did not pass a valid authentication token');
    const [, owner, name, isPredictions] = MODEL_PATH.exec(path) ?? [];
    if (owner !== undefined && isPredictions === undefined && method === 'GET') return describeModel(owner, name!);
    if (owner !== undefined && isPredictions !== undefined && method === 'POST') {
      return createPrediction(question, `${owner}/${name}`, surroundings);
    }
    if (path === '/v1/predictions' && method === 'POST') return createPrediction(question, undefined, surroundings);
    const [, id, isCancel] = PREDICTION_PATH.exec(path) ?? [];
    if (id !== undefined && method === (isCancel === undefined ? 'GET' : 'POST')) {
      return handlePrediction(id, isCancel !== undefined, surroundings);
    }
    return replicateError(404, 'The requested resource could not be found.');
  };
}

/** @param model the model in the address; without one the body contains a version. */
async function createPrediction(
  question: ProtocolRequest,
  model: string | undefined,
  { base, jobs }: SampleContext,
): Promise<ProtocolResponse> {
  const body = await parseRequestBody(question.request);
  if (!('input' in body)) {
    if (body.problem === 'too large') return replicateError(413, 'The request body is too large.');
    return replicateError(400, 'The request body is not a JSON object.');
  }
  const { version, input } = body.input;
  if (model === undefined && typeof version !== 'string') {
    return replicateInputError([buildIssue('version', 'missing', 'version is required', version)]);
  }
  if (!isObject(input)) return replicateInputError([buildIssue('input', 'missing', 'input is required', input)]);
  const issues: InputIssue[] = [];
  const renderRequest = readReplicateRequest(input, issues);
  if (issues.length === 0 && shouldReject(renderRequest))
    issues.push(replicateSensitiveContentIssue(renderRequest.prompt));
  if (issues.length > 0)
    return replicateInputError(issues.map((found) => ({ ...found, field: `input.${found.field}` })));
  const job = jobs.submit({
    id: createPredictionId(),
    namespace: NAMESPACE,
    model: model ?? String(version),
    input,
    renderRequest,
  });
  if (!job) return replicateError(429, 'Request was throttled. Too many predictions are waiting.', RETRY_LATER);
  return { status: 201, body: buildPrediction({ ...job, startedAt: null }, base) };
}

function readReplicateRequest(input: RequestInput, issues: InputIssue[]): RenderRequest {
  if (input['duration'] === undefined) return readImageRequest(input, 'num_outputs', issues);
  return readVideoRequest(input, readInteger(input, 'duration', VIDEO_SECONDS, 5, issues), issues);
}

function handlePrediction(
  id: string,
  isCancel: boolean,
  { base, jobs }: { base: string; jobs: JobStore },
): ProtocolResponse {
  const job = jobs.find(NAMESPACE, id);
  if (!job) return replicateError(404, 'The requested resource could not be found.');
  if (isCancel) jobs.cancel(job);
  return { status: 200, body: buildPrediction(job, base) };
}

function describeModel(owner: string, name: string): ProtocolResponse {
  const description = 'A sample model: a landscape with the prompt on it.';
  const about = { owner, name, description, visibility: 'public', run_count: 0, latest_version: null };
  return { status: 200, body: about };
}

function replicateSensitiveContentIssue(prompt: string): InputIssue {
  const msg = 'The input was flagged as sensitive. Please try again with different inputs. (E005)';
  return buildIssue('prompt', 'content_policy', msg, prompt);
}

/** Creates an id of 26 lowercase letters and digits, as at Replicate. */
function createPredictionId(): string {
  return Array.from(randomBytes(26), (byte) => (byte % 32).toString(32)).join('');
}
