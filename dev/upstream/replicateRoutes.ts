import { randomBytes } from 'node:crypto';
import { type Answer, carriesKey, type Protocol, type Question, RETRY_LATER, type Surroundings } from './answer.ts';
import { isObject, readBody } from './body.ts';
import { type Input, type InputIssue, issue, readInteger } from './input.ts';
import type { Jobs } from './jobs.ts';
import { asksForRefusal, readImageOrder, readVideoOrder, type RenderOrder } from './orders.ts';
import { predictionOf, refusal, unprocessable } from './replicateAnswers.ts';

const BOOK = 'replicate';
const MODEL_PATH = /^\/v1\/models\/([^/]+)\/([^/]+)(\/predictions)?$/;
const PREDICTION_PATH = /^\/v1\/predictions\/([^/]+)(\/cancel)?$/;
const VIDEO_SECONDS = { min: 1, max: 15 };

/** Replicate's predictions, of any model: whether it makes videos or images, its input shows. All of it needs a key. */
export function replicateProtocol(surroundings: Surroundings): Protocol {
  return async (question) => {
    const { method, path } = question;
    if (!carriesKey(question, 'Bearer')) return refusal(401, 'You did not pass a valid authentication token');
    const [, owner, name, isPredictions] = MODEL_PATH.exec(path) ?? [];
    if (owner !== undefined && isPredictions === undefined && method === 'GET') return aboutModel(owner, name!);
    if (owner !== undefined && isPredictions !== undefined && method === 'POST') {
      return create(question, `${owner}/${name}`, surroundings);
    }
    if (path === '/v1/predictions' && method === 'POST') return create(question, undefined, surroundings);
    const [, id, isCancel] = PREDICTION_PATH.exec(path) ?? [];
    if (id !== undefined && method === (isCancel === undefined ? 'GET' : 'POST')) {
      return aboutPrediction(id, isCancel !== undefined, surroundings);
    }
    return refusal(404, 'The requested resource could not be found.');
  };
}

/** @param model is what the address names; without one it is the body that names a version. */
async function create(question: Question, model: string | undefined, { base, jobs }: Surroundings): Promise<Answer> {
  const body = await readBody(question.request);
  if (!('input' in body)) {
    if (body.problem === 'too large') return refusal(413, 'The request body is too large.');
    return refusal(400, 'The request body is no JSON object.');
  }
  const { version, input } = body.input;
  if (model === undefined && typeof version !== 'string') {
    return unprocessable([issue('version', 'missing', 'version is required', version)]);
  }
  if (!isObject(input)) return unprocessable([issue('input', 'missing', 'input is required', input)]);
  const issues: InputIssue[] = [];
  const order = readOrder(input, issues);
  if (issues.length === 0 && asksForRefusal(order)) issues.push(flagged(order.prompt));
  if (issues.length > 0) return unprocessable(issues.map((found) => ({ ...found, field: `input.${found.field}` })));
  const job = jobs.submit({ id: newId(), book: BOOK, model: model ?? String(version), input, order });
  if (!job) return refusal(429, 'Request was throttled. Too many predictions are waiting.', RETRY_LATER);
  return { status: 201, body: predictionOf({ ...job, startedAt: null }, base) };
}

function readOrder(input: Input, issues: InputIssue[]): RenderOrder {
  if (input['duration'] === undefined) return readImageOrder(input, 'num_outputs', issues);
  return readVideoOrder(input, readInteger(input, 'duration', VIDEO_SECONDS, 5, issues), issues);
}

function aboutPrediction(id: string, isCancel: boolean, { base, jobs }: { base: string; jobs: Jobs }): Answer {
  const job = jobs.find(BOOK, id);
  if (!job) return refusal(404, 'The requested resource could not be found.');
  if (isCancel) jobs.cancel(job);
  return { status: 200, body: predictionOf(job, base) };
}

function aboutModel(owner: string, name: string): Answer {
  const description = 'A sample model: a landscape with the prompt upon it.';
  const about = { owner, name, description, visibility: 'public', run_count: 0, latest_version: null };
  return { status: 200, body: about };
}

function flagged(prompt: string): InputIssue {
  const msg = 'The input was flagged as sensitive. Please try again with different inputs. (E005)';
  return issue('prompt', 'content_policy', msg, prompt);
}

/** 26 small letters and digits, as Replicate's ids look. */
function newId(): string {
  return Array.from(randomBytes(26), (byte) => (byte % 32).toString(32)).join('');
}
