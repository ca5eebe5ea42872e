import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Answer, carriesKey, type JsonAnswer, type Protocol, type Question, type Surroundings } from './answer.ts';
import { readBody } from './body.ts';
import { type Input, type InputIssue, readChoice } from './input.ts';
import type { Job, Jobs } from './jobs.ts';
import type { StoredFile } from './mediaFiles.ts';
import { flagged, refusal, tooMany, unprocessable, videoAnswer } from './openaiAnswers.ts';
import { readImageOrder, readModel, readVideoOrder } from './openaiInput.ts';
import { asksForRefusal } from './orders.ts';

const BOOK = 'openai';
const VIDEO_PATH = /^\/v1\/videos\/([^/]+)(\/content)?$/;
const IMAGE_FAULT = 'image_generation_user_error';

/** OpenAI's videos, which are jobs, and its images, which are answered at once. All of it needs a key. */
export function openaiProtocol(surroundings: Surroundings): Protocol {
  return async (question) => {
    const { method, path } = question;
    if (!carriesKey(question, 'Bearer')) {
      return refusal(401, "You didn't provide an API key. Use an Authorization header: Bearer YOUR_KEY.");
    }
    const video = VIDEO_PATH.exec(path);
    if (video) return aboutVideo(method, video[1]!, video[2] !== undefined, surroundings.jobs);
    const call = `${method} ${path}`;
    if (call === 'POST /v1/videos') return withInput(question, (input) => createVideo(input, surroundings));
    if (call === 'POST /v1/images/generations')
      return withInput(question, (input) => createImages(input, surroundings));
    if (call === 'GET /v1/models') return { status: 200, body: { object: 'list', data: [modelEntry('sample')] } };
    return refusal(404, `Invalid URL (${call})`);
  };
}

async function withInput(question: Question, answer: (input: Input) => Answer | Promise<Answer>): Promise<Answer> {
  const body = await readBody(question.request);
  if ('input' in body) return answer(body.input);
  if (body.problem === 'too large') return refusal(413, 'The request body is too large.');
  return refusal(400, 'We could not parse the body of your request: it must be a JSON object or a form.');
}

function createVideo(input: Input, { jobs }: Surroundings): Answer {
  const issues: InputIssue[] = [];
  const order = readVideoOrder(input, issues);
  const model = readModel(input, issues);
  if (issues[0]) return unprocessable(issues[0]);
  if (asksForRefusal(order)) return flagged('video_generation_user_error');
  const job = jobs.submit({ id: `video_${randomBytes(24).toString('hex')}`, book: BOOK, model, input, order });
  return job ? videoAnswer({ ...job, startedAt: null }) : tooMany();
}

function aboutVideo(method: string, id: string, wantsContent: boolean, jobs: Jobs): Answer {
  const job = jobs.find(BOOK, id);
  if (!job) return refusal(404, `Video with id '${id}' not found.`, { param: 'video_id' });
  if (wantsContent && method === 'GET') return contentOf(job);
  if (!wantsContent && method === 'GET') return videoAnswer(job);
  if (!wantsContent && method === 'DELETE') {
    jobs.forget(job);
    return { status: 200, body: { id, object: 'video.deleted', deleted: true } };
  }
  return refusal(405, `Not allowed to ${method} on a video.`);
}

function contentOf({ id, outcome }: Job): Answer {
  if (outcome?.kind === 'succeeded') return { file: outcome.files[0]!.name };
  return refusal(400, `Video is not ready: see GET /v1/videos/${id}.`);
}

/** Renders before it answers: this can take a minute, and more. */
async function createImages(input: Input, { base, jobs, files }: Surroundings): Promise<Answer> {
  const issues: InputIssue[] = [];
  const order = readImageOrder(input, issues);
  const model = readModel(input, issues);
  const form = readChoice(input, 'response_format', ['b64_json', 'url'], 'b64_json', issues);
  if (issues[0]) return unprocessable(issues[0]);
  if (asksForRefusal(order)) return flagged(IMAGE_FAULT);
  const job = jobs.submit({ id: `img_${randomBytes(24).toString('hex')}`, book: BOOK, model, input, order });
  if (!job) return tooMany();
  const outcome = await jobs.ended(job);
  if (outcome.kind === 'failed') return noImages(outcome.reason === 'broke down', outcome.message);
  const created = Math.floor(job.completedAt! / 1000);
  const about = { created, output_format: order.format, size: `${order.width}x${order.height}`, watermarked: true };
  if (form === 'url') {
    return {
      status: 200,
      body: { ...about, data: outcome.files.map(({ name }) => ({ url: `${base}/files/${name}` })) },
    };
  }
  const data = await Promise.all(outcome.files.map((file) => encode(files.folder, file)));
  jobs.forget(job);
  return { status: 200, body: { ...about, data } };
}

function noImages(isOurFault: boolean, message: string): JsonAnswer {
  if (isOurFault) return refusal(500, message, { type: 'server_error' });
  return refusal(400, message, { type: IMAGE_FAULT, code: 'no_image_generated' });
}

async function encode(folder: string, { name }: StoredFile): Promise<{ b64_json: string }> {
  return { b64_json: await readFile(join(folder, name), 'base64') };
}

function modelEntry(id: string): object {
  return { id, object: 'model', created: 0, owned_by: 'sample' };
}
