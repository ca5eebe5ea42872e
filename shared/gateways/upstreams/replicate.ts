import { now } from '../../lib/clock.ts';
import {
  asked,
  fieldOf,
  isPlain,
  MESSAGES,
  notSubmitted,
  sameOrigin,
  sentence,
  textOf,
  unavailable,
} from './answers.ts';
import { exchange, type JsonAnswer } from './http.ts';
import type { Route } from './settings.ts';
import {
  type Submission,
  type Upstream,
  UpstreamError,
  type UpstreamHandle,
  type UpstreamJob,
  type UpstreamProgress,
} from './upstream.ts';

interface ReplicateHandle extends UpstreamHandle {
  id: string;
  get_url: string;
  cancel_url: string;
}

/** Lifetimes of a prediction that Replicate takes. */
const LIFETIME_SECONDS = { min: 5, max: 24 * 3_600 };

const NO_SUCH_VERSION = 'Invalid version or not permitted';

/**
 * Replicate's predictions: one is created, looked at, and has its output in the last look. A model is `owner/name`
 * (an official one), or `owner/name:version`. There is no idempotency key, so that a creation whose reply is lost has
 * an unknown outcome; what nobody knows of is stopped by Replicate itself at the job's deadline.
 */
export function replicateUpstream({ upstream: { baseUrl, key }, modelId, kind }: Route): Upstream {
  const headers = { authorization: `Bearer ${key}`, accept: 'application/json' };
  const origin = new URL(baseUrl).origin;
  const [model, version] = modelId.split(':');

  /** Our key goes to Replicate's own address and nowhere else. */
  function ask(method: 'GET' | 'POST', url: string): Promise<JsonAnswer> {
    if (!sameOrigin(url, origin)) throw new UpstreamError('unavailable', `${url} is not an address of this upstream`);
    return exchange(method, url, { headers });
  }

  async function submit({ input, deadlineAt }: UpstreamJob): Promise<Submission> {
    const answer = await exchange('POST', `${baseUrl}${version === undefined ? `/models/${model}` : ''}/predictions`, {
      headers: { ...headers, prefer: 'respond-async', 'cancel-after': `${secondsUntil(deadlineAt)}s` },
      body: version === undefined ? { input } : { version, input },
    });
    const id = fieldOf(answer.body, 'id');
    if ([200, 201, 202].includes(answer.status) && isPlain(id)) {
      const progress = progressOf(answer.body);
      return progress.state === 'running' ? { state: 'accepted', handle: handleOf(id, answer.body) } : progress;
    }
    if (answer.status === 429) throw unavailable(withWait(answer));
    // Of a version that is not there, which no customer could do anything about.
    if (answer.status === 422 && fieldOf(answer.body, 'title') === NO_SUCH_VERSION) throw unavailable(answer);
    throw notSubmitted(answer, refusal);
  }

  /** An address that is missing, or is not Replicate's own, is made from the id. */
  function handleOf(id: string, receipt: unknown): ReplicateHandle {
    const addressOf = (name: string, otherwise: string): string => {
      const url = fieldOf(fieldOf(receipt, 'urls'), name);
      return isPlain(url) && sameOrigin(url, origin) ? url : otherwise;
    };
    const own = `${baseUrl}/predictions/${encodeURIComponent(id)}`;
    return { id, get_url: addressOf('get', own), cancel_url: addressOf('cancel', `${own}/cancel`) };
  }

  async function check(handle: UpstreamHandle): Promise<UpstreamProgress> {
    const answer = await asked(() => ask('GET', (handle as ReplicateHandle).get_url));
    if (answer.status === 404) throw new UpstreamError('gone', 'The upstream does not know the prediction.');
    if (answer.status !== 200 || textOf(fieldOf(answer.body, 'status')) === undefined) throw unavailable(answer);
    return progressOf(answer.body);
  }

  function progressOf(prediction: unknown): UpstreamProgress {
    switch (fieldOf(prediction, 'status')) {
      case 'succeeded':
        return outputOf(fieldOf(prediction, 'output'), fieldOf(prediction, 'watermarked') === true);
      case 'failed':
        return { state: 'failed', message: inPlainWords(textOf(fieldOf(prediction, 'error'))) };
      case 'canceled':
        return { state: 'failed', message: MESSAGES.cancelled };
      case 'aborted':
        return { state: 'failed', message: MESSAGES.notStarted };
      default:
        return { state: 'running' };
    }
  }

  function outputOf(output: unknown, isWatermarked: boolean): UpstreamProgress {
    const url = Array.isArray(output) ? output.map(textOf).find((text) => text !== undefined) : textOf(output);
    if (url === undefined) return { state: 'failed', message: MESSAGES.noOutput };
    // Most files lie on a host of their own, open to who has the address; those of the API itself want the key.
    const file = sameOrigin(url, origin) ? { url, headers: { authorization: headers.authorization } } : { url };
    return { state: 'succeeded', output: file, isWatermarked };
  }

  async function cancel(handle: UpstreamHandle): Promise<void> {
    await ask('POST', (handle as ReplicateHandle).cancel_url);
  }

  async function probe(): Promise<void> {
    const answer = await asked(() => ask('GET', `${baseUrl}/models/${model}`));
    const { status, body } = answer;
    if (status !== 200 || typeof body !== 'object' || body === null || Array.isArray(body)) throw unavailable(answer);
  }

  return { kind, isSynchronous: false, submit, check, cancel, probe };
}

/** Up rather than down: a job past its deadline is ended by us, and Replicate only makes sure. */
function secondsUntil(deadlineAt: Date): number {
  const seconds = Math.ceil((deadlineAt.getTime() - now().getTime()) / 1_000);
  return Math.min(LIFETIME_SECONDS.max, Math.max(LIFETIME_SECONDS.min, seconds));
}

/** Where there is no header Retry-After, the seconds are in the body: by themselves, or in its sentence. */
function withWait(answer: JsonAnswer): JsonAnswer {
  const own = fieldOf(answer.body, 'retry_after');
  const told = /resets in ~?(\d+)s/.exec(textOf(fieldOf(answer.body, 'detail')) ?? '')?.[1];
  const seconds = typeof own === 'number' ? String(own) : told;
  return seconds === undefined ? answer : { ...answer, headers: { 'retry-after': seconds, ...answer.headers } };
}

/** What Replicate and its models say of failures, and what that means to a customer; the first that fits. */
const MEANINGS: [RegExp, string][] = [
  [/nsfw|sensitive|safety|moderation|polic(y|ies)\b|\bE005\b/i, MESSAGES.notAllowed],
  [/out of memory|timed?[ -]?out|interrupted|(code: |\()PA\)|\bE\d{3,4}\b/i, MESSAGES.brokeDown],
];

function inPlainWords(said: string | undefined): string {
  if (said === undefined || said.trim() === '') return MESSAGES.notMade;
  return MEANINGS.find(([words]) => words.test(said))?.[1] ?? sentence(said.trim());
}

/** `detail` is a sentence; for an input that does not fit there is a list of the fields, with a description each. */
function refusal(body: unknown): string {
  const fields = [fieldOf(body, 'invalid_fields'), fieldOf(body, 'detail')].find(Array.isArray) ?? [];
  const descriptions = fields.map((field: unknown) => textOf(fieldOf(field, 'description') ?? fieldOf(field, 'msg')));
  const said = descriptions.filter((description) => description !== undefined).join('; ');
  return inPlainWords(textOf(said) ?? textOf(fieldOf(body, 'detail')) ?? textOf(fieldOf(body, 'title')));
}
