import { randomUUID } from 'node:crypto';
import { type Answer, carriesKey, type Protocol, type Question, RETRY_LATER, type Surroundings } from './answer.ts';
import { readBody } from './body.ts';
import { refusal, resultAnswer, statusAnswer, submittedAnswer, unprocessable } from './falAnswers.ts';
import { type Input, type InputIssue, issue, readChoice } from './input.ts';
import type { Job, Jobs } from './jobs.ts';
import { asksForRefusal, readImageOrder, readVideoOrder, type RenderOrder } from './orders.ts';

const REQUEST_PATH = /^\/([^/]+\/[^/]+)\/requests\/([^/]+)(?:\/(status|cancel))?$/;
const MODEL_ID = /^[\w.-]+(\/[\w.-]+)+$/;
const VIDEO_DURATIONS = ['4', '5', '6', '7', '8', '9', '10', '11', '12'] as const;

/** fal's queue, of any model: submit, status, result, cancel. Every one of them needs a key. */
export function falProtocol({ base, jobs }: Surroundings): Protocol {
  return async (question) => {
    const { method, path, query } = question;
    if (!carriesKey(question, 'Key')) return refusal(401, 'Authentication is required to access this application.');
    const match = REQUEST_PATH.exec(path);
    if (!match) return submit(question, path.slice(1), jobs, base);
    const [, app, id, verb] = match;
    const job = jobs.find(`fal ${app}`, id!);
    if (!job) return refusal(404, `Request ${id} not found`);
    const call = `${method} ${verb ?? 'result'}`;
    if (call === 'GET status') return statusAnswer(job, base, jobs.queuePosition(job), query.get('logs') === '1');
    if (call === 'GET result') return resultAnswer(job, base);
    if (call === 'PUT cancel') return cancel(job, jobs);
    return refusal(405, 'Method Not Allowed');
  };
}

async function submit(question: Question, model: string, jobs: Jobs, base: string): Promise<Answer> {
  if (!MODEL_ID.test(model)) return refusal(404, `Application '${model}' not found`);
  if (question.method !== 'POST') return refusal(405, 'Method Not Allowed');
  const body = await readBody(question.request);
  if (!('input' in body)) {
    if (body.problem === 'too large') return refusal(413, 'Request body is too large');
    return unprocessable([issue('', 'json_invalid', 'JSON decode error', null)]);
  }
  const issues: InputIssue[] = [];
  const order = readOrder(model, body.input, issues);
  if (issues.length > 0) return unprocessable(issues);
  if (asksForRefusal(order)) return unprocessable([flagged(order.prompt)]);
  // fal keeps the requests of all the paths of an app in one place: owner and app, without the path.
  const book = `fal ${model.split('/').slice(0, 2).join('/')}`;
  const job = jobs.submit({ id: randomUUID(), book, model, input: body.input, order });
  if (!job) return refusal(429, 'Too many requests are waiting', RETRY_LATER);
  return submittedAnswer(job, base, jobs.queuePosition(job));
}

/** Whether a model makes videos or images, its name shows, or its input. */
function readOrder(model: string, input: Input, issues: InputIssue[]): RenderOrder {
  if (!model.endsWith('-to-video') && input['duration'] === undefined) {
    return readImageOrder(input, 'num_images', issues);
  }
  return readVideoOrder(input, Number(readChoice(input, 'duration', VIDEO_DURATIONS, '5', issues)), issues);
}

function cancel(job: Job, jobs: Jobs): Answer {
  const headers = { 'X-Fal-Request-Id': job.id };
  if (jobs.cancel(job)) return { status: 202, body: { status: 'CANCELLATION_REQUESTED' }, headers };
  return { status: 400, body: { status: 'ALREADY_COMPLETED' }, headers };
}

function flagged(prompt: string): InputIssue {
  const msg = 'The content could not be processed because it contained material flagged by a content checker.';
  return issue('prompt', 'content_policy_violation', msg, prompt);
}
