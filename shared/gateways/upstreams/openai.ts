import { type Dispatcher, FormData } from 'undici';
import { now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { UnusableOutput } from '../media/download.ts';
import { discard } from '../media/incoming.ts';
import {
  asked,
  fieldOf,
  isPlain,
  MESSAGES,
  notSubmitted,
  ourFault,
  sameOrigin,
  sentence,
  textOf,
  unavailable,
} from './answers.ts';
import { converse, exchange, type JsonAnswer } from './http.ts';
import { receiveImage } from './imageAnswer.ts';
import type { Route } from './settings.ts';
import {
  type Submission,
  type Upstream,
  type UpstreamEnd,
  UpstreamError,
  type UpstreamHandle,
  type UpstreamJob,
  type UpstreamOutput,
  type UpstreamProgress,
} from './upstream.ts';

interface VideoHandle extends UpstreamHandle {
  id: string;
}

const DONE = ['completed', 'succeeded'];
const FAILED = ['failed', 'cancelled', 'expired'];

/**
 * OpenAI's Videos and Images APIs, which gateways, vLLM-Omni and SGLang speak as well. A video is created, looked at,
 * and downloaded; an image comes with the answer, minutes later. The idempotency key is heeded by some gateways only,
 * so that a submit whose reply is lost has an unknown outcome.
 */
export function openaiUpstream({ upstream: { baseUrl, key, takesForms }, modelId, kind }: Route): Upstream {
  const credentials: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
  const headers = { ...credentials, accept: 'application/json' };
  const origin = new URL(baseUrl).origin;

  function addressOf(handle: UpstreamHandle): string {
    return `${baseUrl}/videos/${encodeURIComponent((handle as VideoHandle).id)}`;
  }

  /** Addresses may be relative. Our key goes to the upstream's own address and nowhere else. */
  function outputAt(address: string, answer: unknown): UpstreamEnd {
    if (!URL.canParse(address, baseUrl)) return NO_OUTPUT;
    const url = new URL(address, baseUrl).href;
    return succeeded({ url, headers: sameOrigin(url, origin) ? credentials : undefined }, answer);
  }

  async function createVideo({ generationId, input }: UpstreamJob): Promise<Submission> {
    const body = { model: modelId, ...input };
    const answer = await exchange('POST', `${baseUrl}/videos`, {
      headers: { ...headers, 'idempotency-key': generationId },
      body: takesForms ? formOf(body) : body,
    });
    if (answer.status < 300 && isFailed(answer.body)) return failed(answer.body);
    const id = fieldOf(answer.body, 'id');
    if (answer.status < 300 && isId(id)) return { state: 'accepted', handle: { id } satisfies VideoHandle };
    throw notTaken(answer);
  }

  async function check(handle: UpstreamHandle): Promise<UpstreamProgress> {
    const answer = await asked(() => exchange('GET', addressOf(handle), { headers }));
    if (answer.status === 404) throw new UpstreamError('gone', 'The upstream does not know the video.');
    const status = textOf(fieldOf(answer.body, 'status'));
    if (answer.status !== 200 || status === undefined) throw unavailable(answer);
    if (isFailed(answer.body)) return failed(answer.body);
    if (!DONE.includes(status)) return { state: 'running' };
    // Not OpenAI's: SGLang that keeps videos in a bucket does not give them out itself.
    const url = fieldOf(answer.body, 'url');
    return outputAt(isPlain(url) ? url : `${addressOf(handle)}/content`, answer.body);
  }

  async function cancel(handle: UpstreamHandle): Promise<void> {
    await exchange('DELETE', addressOf(handle), { headers });
  }

  function createImage(job: UpstreamJob): Promise<Submission> {
    const question = {
      headers: { ...headers, 'idempotency-key': job.generationId },
      body: { model: modelId, ...job.input },
      timeoutMs: Math.max(1, Math.min(config.UPSTREAM_SYNC_TIMEOUT_MS, job.deadlineAt.getTime() - now().getTime())),
    };
    return converse('POST', `${baseUrl}/images/generations`, question, async (response) => {
      try {
        return await endOf(response, job);
      } catch (error) {
        if (error instanceof UnusableOutput) return UNUSABLE;
        throw error;
      }
    });
  }

  async function endOf(response: Dispatcher.ResponseData, job: UpstreamJob): Promise<UpstreamEnd> {
    const { statusCode: status, headers } = response;
    const { body, image } = await receiveImage(response.body, () => job.newFile(), config.MEDIA_MAX_BYTES);
    if (status === 200 && image !== undefined) {
      return 'url' in image ? outputAt(image.url, body) : succeeded(image, body);
    }
    if (image !== undefined && 'file' in image) await discard(image.file);
    if (status === 200 && Array.isArray(fieldOf(body, 'data'))) return NO_OUTPUT;
    throw notTaken({ status, headers, body }, { isSynchronous: true });
  }

  async function probe(): Promise<void> {
    const answer = await asked(() => exchange('GET', `${baseUrl}/models`, { headers }));
    // Some have no list of their models, and say so in JSON.
    const isUnderstood = typeof answer.body === 'object' && answer.body !== null;
    if (!isUnderstood || (answer.status !== 200 && answer.status !== 404)) throw unavailable(answer);
  }

  const isSynchronous = kind === 'image';
  return { kind, isSynchronous, submit: isSynchronous ? createImage : createVideo, check, cancel, probe };
}

function isFailed(body: unknown): boolean {
  return FAILED.includes(String(fieldOf(body, 'status')));
}

function failed(body: unknown): UpstreamEnd {
  return { state: 'failed', message: failureMessage(body) };
}

function succeeded(output: UpstreamOutput, body: unknown): UpstreamEnd {
  return { state: 'succeeded', output, isWatermarked: fieldOf(body, 'watermarked') === true };
}

const NO_OUTPUT: UpstreamEnd = { state: 'failed', message: MESSAGES.noOutput };
const UNUSABLE: UpstreamEnd = { state: 'failed', message: MESSAGES.unusableOutput };

/** It goes into a path, where dots alone would lead elsewhere. */
function isId(value: unknown): value is string {
  return isPlain(value) && !/^\.+$/.test(value);
}

/** Fields of a form are texts; what is more than that is JSON in one. */
function formOf(body: Record<string, unknown>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) {
    form.set(name, typeof value === 'string' ? value : JSON.stringify(value));
  }
  return form;
}

/** What is wrong with our account there, which OpenAI says with a 400, as if the order were at fault. */
const OUR_FAULT = /^(billing_|insufficient_quota|account_)/;
/** `moderation_blocked`, `content_policy_violation`, `content_filter`, ... */
const AGAINST_POLICY = /moderation|content_?(policy|filter)|safety/i;
/** `server_error`, `InternalServerError`, vLLM-Omni's `500`, ... */
const BREAKDOWN = /server_?error|internal_?error|^5\d\d$/i;

/** What became of a submission that brought no receipt and no output. */
function notTaken(answer: JsonAnswer, how: { isSynchronous?: boolean } = {}): UpstreamError {
  const codes = codesOf(answer.body);
  if (codes.some((code) => OUR_FAULT.test(code))) return ourFault(answer);
  const isRefusal = answer.status >= 400 && answer.status < 500 && codes.some((code) => AGAINST_POLICY.test(code));
  return isRefusal
    ? new UpstreamError('refused', failureMessage(answer.body))
    : notSubmitted(answer, failureMessage, how);
}

/** What is wrong, in words for a customer. `detail` is FastAPI's, by which vLLM-Omni and SGLang are served. */
function failureMessage(body: unknown): string {
  const codes = codesOf(body);
  if (codes.some((code) => AGAINST_POLICY.test(code))) return MESSAGES.notAllowed;
  if (codes.some((code) => BREAKDOWN.test(code))) return MESSAGES.brokeDown;
  const [error, detail] = [fieldOf(body, 'error'), fieldOf(body, 'detail')];
  const first: unknown = Array.isArray(detail) ? fieldOf(detail[0], 'msg') : detail;
  const said = textOf(fieldOf(error, 'message')) ?? textOf(error) ?? textOf(first);
  return said === undefined ? MESSAGES.notMade : sentence(said);
}

function codesOf(body: unknown): string[] {
  const error = fieldOf(body, 'error');
  return [fieldOf(error, 'code'), fieldOf(error, 'type')]
    .filter((code) => typeof code === 'string' || typeof code === 'number')
    .map(String);
}
