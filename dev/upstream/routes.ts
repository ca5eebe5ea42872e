import type { IncomingMessage } from 'node:http';
import type { InputIssue } from './input.ts';
import { issue } from './input.ts';
import type { Job, Jobs } from './jobs.ts';
import { findModel } from './models.ts';
import type { Answer } from './protocol.ts';
import { refusal, resultAnswer, statusAnswer, submittedAnswer, unprocessable } from './protocol.ts';

const MAX_BODY_BYTES = 64 * 1024;
const REQUEST_PATH = /^\/([^/]+\/[^/]+)\/requests\/([^/]+)(?:\/(status|cancel))?$/;

interface Surroundings {
  base: string;
  falKey: string | undefined;
  jobs: Jobs;
}

/** The queue's whole interface: submit, status, result, cancel. Every one of them needs a key. */
export function createRoutes({ base, falKey, jobs }: Surroundings): (request: IncomingMessage) => Promise<Answer> {
  return async (request) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', base);
    if (pathname === '/' && request.method === 'GET') return { status: 200, body: { service: 'sample upstream' } };
    if (!carriesKey(request, falKey)) {
      return refusal(401, 'Authentication is required to access this application.');
    }
    const match = REQUEST_PATH.exec(pathname);
    if (!match) return submit(request, pathname.slice(1), jobs, base);
    const [, appPath, id, verb] = match;
    const job = jobs.find(appPath!, id!);
    if (!job) return refusal(404, `Request ${id} not found`);
    const call = `${request.method} ${verb ?? 'result'}`;
    if (call === 'GET status')
      return statusAnswer(job, base, jobs.queuePosition(job), searchParams.get('logs') === '1');
    if (call === 'GET result') return resultAnswer(job, base);
    if (call === 'PUT cancel') return cancel(job, jobs);
    return refusal(405, 'Method Not Allowed');
  };
}

function carriesKey(request: IncomingMessage, falKey: string | undefined): boolean {
  const key = /^Key (\S+)$/.exec(request.headers.authorization ?? '')?.[1];
  return key !== undefined && (falKey === undefined || key === falKey);
}

async function submit(request: IncomingMessage, modelId: string, jobs: Jobs, base: string): Promise<Answer> {
  const model = findModel(modelId);
  if (!model) return refusal(404, `Application '${modelId}' not found`);
  if (request.method !== 'POST') return refusal(405, 'Method Not Allowed');
  const text = await readBody(request);
  if (text === null) return refusal(413, 'Request body is too large');
  const input = parseObject(text);
  if (!input) return unprocessable([{ ...issue('', 'json_invalid', 'JSON decode error', text), loc: ['body'] }]);
  const issues: InputIssue[] = [];
  const order = model.read(input, issues);
  if (issues.length > 0) return unprocessable(issues);
  if (order.prompt.includes('[reject]')) return unprocessable([flagged(order.prompt)]);
  const job = jobs.submit(modelId, order);
  if (!job) return refusal(429, 'Too many requests are waiting', { 'Retry-After': '5' });
  return submittedAnswer(job, base, jobs.queuePosition(job));
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

/** The body as text, or null when it is too large. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
