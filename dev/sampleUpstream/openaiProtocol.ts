import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type ProtocolResponse,
  hasApiKey,
  type JsonResponse,
  type ProtocolHandler,
  type ProtocolRequest,
  type SampleContext,
} from './protocol.ts';
import { parseRequestBody } from './requestBody.ts';
import { type RequestInput, type InputIssue, readChoice } from './inputValidation.ts';
import type { Job, JobStore } from './jobStore.ts';
import type { StoredFile } from './mediaFiles.ts';
import {
  openaiModerationError,
  openaiError,
  openaiRateLimitError,
  openaiInputError,
  openaiVideoResponse,
} from './openaiResponses.ts';
import { readOpenaiImageRequest, readModel, readOpenaiVideoRequest } from './openaiInput.ts';
import { shouldReject } from './renderRequests.ts';

const NAMESPACE = 'openai';
const VIDEO_PATH = /^\/v1\/videos\/([^/]+)(\/content)?$/;
const IMAGE_ERROR_TYPE = 'image_generation_user_error';

/** OpenAI's videos, which are jobs, and its images, which are returned in the response. Every request needs a key. */
export function createOpenaiProtocol(surroundings: SampleContext): ProtocolHandler {
  return async (question) => {
    const { method, path } = question;
    if (!hasApiKey(question, 'Bearer')) {
      return openaiError(401, "You didn't provide an API key. Use an Authorization header: Bearer YOUR_KEY.");
    }
    const video = VIDEO_PATH.exec(path);
    if (video) return handleVideo(method, video[1]!, video[2] !== undefined, surroundings.jobs);
    const call = `${method} ${path}`;
    if (call === 'POST /v1/videos') return withParsedInput(question, (input) => createVideo(input, surroundings));
    if (call === 'POST /v1/images/generations')
      return withParsedInput(question, (input) => createImages(input, surroundings));
    if (call === 'GET /v1/models') return { status: 200, body: { object: 'list', data: [buildModelEntry('sample')] } };
    return openaiError(404, `Invalid URL (${call})`);
  };
}

async function withParsedInput(
  question: ProtocolRequest,
  respond: (input: RequestInput) => ProtocolResponse | Promise<ProtocolResponse>,
): Promise<ProtocolResponse> {
  const body = await parseRequestBody(question.request);
  if ('input' in body) return respond(body.input);
  if (body.problem === 'too large') return openaiError(413, 'The request body is too large.');
  return openaiError(400, 'We could not parse the body of your request: it must be a JSON object or a form.');
}

function createVideo(input: RequestInput, { jobs }: SampleContext): ProtocolResponse {
  const issues: InputIssue[] = [];
  const renderRequest = readOpenaiVideoRequest(input, issues);
  const model = readModel(input, issues);
  if (issues[0]) return openaiInputError(issues[0]);
  if (shouldReject(renderRequest)) return openaiModerationError('video_generation_user_error');
  const job = jobs.submit({
    id: `video_${randomBytes(24).toString('hex')}`,
    namespace: NAMESPACE,
    model,
    input,
    renderRequest,
  });
  return job ? openaiVideoResponse({ ...job, startedAt: null }) : openaiRateLimitError();
}

function handleVideo(method: string, id: string, wantsContent: boolean, jobs: JobStore): ProtocolResponse {
  const job = jobs.find(NAMESPACE, id);
  if (!job) return openaiError(404, `Video with id '${id}' not found.`, { param: 'video_id' });
  if (wantsContent && method === 'GET') return buildContentResponse(job);
  if (!wantsContent && method === 'GET') return openaiVideoResponse(job);
  if (!wantsContent && method === 'DELETE') {
    jobs.remove(job);
    return { status: 200, body: { id, object: 'video.deleted', deleted: true } };
  }
  return openaiError(405, `Not allowed to ${method} on a video.`);
}

function buildContentResponse({ id, outcome }: Job): ProtocolResponse {
  if (outcome?.kind === 'succeeded') return { file: outcome.files[0]!.name };
  return openaiError(400, `Video is not ready: see GET /v1/videos/${id}.`);
}

/** Renders before it responds, which can take more than a minute. */
async function createImages(input: RequestInput, { base, jobs, files }: SampleContext): Promise<ProtocolResponse> {
  const issues: InputIssue[] = [];
  const renderRequest = readOpenaiImageRequest(input, issues);
  const model = readModel(input, issues);
  const form = readChoice(input, 'response_format', ['b64_json', 'url'], 'b64_json', issues);
  if (issues[0]) return openaiInputError(issues[0]);
  if (shouldReject(renderRequest)) return openaiModerationError(IMAGE_ERROR_TYPE);
  const job = jobs.submit({
    id: `img_${randomBytes(24).toString('hex')}`,
    namespace: NAMESPACE,
    model,
    input,
    renderRequest,
  });
  if (!job) return openaiRateLimitError();
  const outcome = await jobs.waitForEnd(job);
  if (outcome.kind === 'failed') return imageFailureResponse(outcome.reason === 'broke down', outcome.message);
  const created = Math.floor(job.completedAt! / 1000);
  const about = {
    created,
    output_format: renderRequest.format,
    size: `${renderRequest.width}x${renderRequest.height}`,
    watermarked: true,
  };
  if (form === 'url') {
    return {
      status: 200,
      body: { ...about, data: outcome.files.map(({ name }) => ({ url: `${base}/files/${name}` })) },
    };
  }
  const data = await Promise.all(outcome.files.map((file) => encodeFile(files.folder, file)));
  jobs.remove(job);
  return { status: 200, body: { ...about, data } };
}

function imageFailureResponse(isServerFault: boolean, message: string): JsonResponse {
  if (isServerFault) return openaiError(500, message, { type: 'server_error' });
  return openaiError(400, message, { type: IMAGE_ERROR_TYPE, code: 'no_image_generated' });
}

async function encodeFile(folder: string, { name }: StoredFile): Promise<{ b64_json: string }> {
  return { b64_json: await readFile(join(folder, name), 'base64') };
}

function buildModelEntry(id: string): object {
  return { id, object: 'model', created: 0, owned_by: 'sample' };
}
