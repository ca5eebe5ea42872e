import type { GenerationParams, Kind } from '../../spec/catalog.ts';
import { exchange, type JsonAnswer } from './http.ts';
import {
  type Upstream,
  UpstreamError,
  type UpstreamHandle,
  type UpstreamJob,
  type UpstreamProgress,
} from './upstream.ts';

export interface FalOptions {
  baseUrl: string;
  key: string;
  /** Such as `fal-ai/nano-banana-2`. */
  modelId: string;
  kind: Kind;
}

interface FalHandle extends UpstreamHandle {
  request_id: string;
  status_url: string;
  response_url: string;
  cancel_url: string;
}

/** Asked for by the probe: an honest queue says that it does not know it. */
const NO_SUCH_REQUEST = '00000000-0000-0000-0000-000000000000';

/**
 * fal's queue: a job is submitted, looked at under the addresses that the submission returns, and its result fetched.
 * It takes no idempotency key, so that a submit whose reply is lost has an unknown outcome.
 */
export function falUpstream({ baseUrl, key, modelId, kind }: FalOptions): Upstream {
  const headers = { authorization: `Key ${key}`, accept: 'application/json' };
  const origin = new URL(baseUrl).origin;
  // fal keeps the requests of all the paths of an app in one place: owner and app, without the path.
  const app = modelId.split('/').slice(0, 2).join('/');

  /** Our key goes to the queue's own address and nowhere else. */
  function ask(method: 'GET' | 'PUT', url: string): Promise<JsonAnswer> {
    if (!sameOrigin(url, origin)) throw new UpstreamError('unavailable', `${url} is not an address of this upstream`);
    return exchange(method, url, headers);
  }

  async function submit(job: UpstreamJob): Promise<UpstreamHandle> {
    const answer = await exchange('POST', `${baseUrl}/${modelId}`, headers, falInput(job.prompt, job.params));
    if (answer.status === 200) {
      if (isHandle(answer.body, origin)) return pickHandle(answer.body);
      throw new UpstreamError('unknown', 'The upstream answered a submission with something that is no receipt.');
    }
    if (answer.status === 400 || answer.status === 422) throw new UpstreamError('refused', refusalMessage(answer.body));
    if (answer.status === 504 || answer.status < 400) throw new UpstreamError('unknown', statusMessage(answer));
    throw new UpstreamError('unavailable', statusMessage(answer));
  }

  async function check(handle: UpstreamHandle): Promise<UpstreamProgress> {
    const { status_url: statusUrl, response_url: responseUrl } = handle as FalHandle;
    const status = await asked(() => ask('GET', statusUrl));
    if (status.status === 202) return { state: 'running' };
    if (status.status === 404) throw new UpstreamError('gone', statusMessage(status));
    if (status.status !== 200 || fieldOf(status.body, 'status') === undefined) {
      throw new UpstreamError('unavailable', statusMessage(status));
    }
    if (fieldOf(status.body, 'status') !== 'COMPLETED') return { state: 'running' };
    const result = await asked(() => ask('GET', responseUrl));
    if (result.status === 200) return outputOf(result.body, kind);
    const failed = typeof fieldOf(status.body, 'error') === 'string';
    if ([401, 403, 404, 408, 429].includes(result.status) || (result.status >= 500 && !failed)) {
      throw new UpstreamError('unavailable', statusMessage(result));
    }
    return { state: 'failed', message: refusalMessage(result.body) };
  }

  async function cancel(handle: UpstreamHandle): Promise<void> {
    await ask('PUT', (handle as FalHandle).cancel_url);
  }

  async function probe(): Promise<void> {
    const answer = await asked(() => ask('GET', `${baseUrl}/${app}/requests/${NO_SUCH_REQUEST}/status`));
    const understood = answer.status < 500 && ![401, 403, 429].includes(answer.status);
    if (!understood || answer.body === undefined) throw new UpstreamError('unavailable', statusMessage(answer));
  }

  return { name: `fal ${modelId}`, submit, check, cancel, probe };
}

/** A question whose answer is lost can be asked again: nothing is unknown about it. */
async function asked(question: () => Promise<JsonAnswer>): Promise<JsonAnswer> {
  try {
    return await question();
  } catch (error) {
    throw new UpstreamError('unavailable', (error as Error).message, { wasAnswered: false });
  }
}

function falInput(prompt: string, params: GenerationParams): Record<string, unknown> {
  if ('duration' in params) {
    return {
      prompt,
      duration: String(params.duration),
      resolution: params.resolution,
      aspect_ratio: params.aspect_ratio,
      generate_audio: params.audio,
    };
  }
  return { prompt, resolution: params.resolution, aspect_ratio: params.aspect_ratio };
}

function outputOf(body: unknown, kind: Kind): UpstreamProgress {
  const images = fieldOf(body, 'images');
  const output = kind === 'video' ? fieldOf(body, 'video') : Array.isArray(images) ? (images[0] as unknown) : undefined;
  const url = fieldOf(output, 'url');
  if (typeof url !== 'string') return { state: 'failed', message: 'The model returned no output.' };
  return { state: 'succeeded', outputUrl: url, isWatermarked: fieldOf(body, 'watermarked') === true };
}

/** fal says what is wrong as `detail`: a sentence, or a list of `{ msg }`. */
function refusalMessage(body: unknown): string {
  const detail = fieldOf(body, 'detail');
  if (typeof detail === 'string' && detail !== '') return sentence(detail);
  const messages = Array.isArray(detail) ? detail.map((entry) => fieldOf(entry, 'msg')).filter(isText) : [];
  return messages.length > 0 ? sentence(messages.join('; ')) : 'The model could not make this.';
}

const MESSAGE_MAX_CHARACTERS = 500;

function sentence(text: string): string {
  return text.replaceAll('\u0000', '').slice(0, MESSAGE_MAX_CHARACTERS).toWellFormed();
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

const HANDLE_FIELDS = ['request_id', 'status_url', 'response_url', 'cancel_url'] as const;
/** Nothing that could not be stored, or that would be a burden to. */
const PLAIN = /^[\x21-\x7e]{1,2000}$/;

function isHandle(body: unknown, origin: string): body is FalHandle {
  return (
    HANDLE_FIELDS.every((name) => PLAIN.test(String(fieldOf(body, name)))) &&
    HANDLE_FIELDS.slice(1).every((name) => sameOrigin(fieldOf(body, name), origin))
  );
}

function pickHandle({ request_id, status_url, response_url, cancel_url }: FalHandle): FalHandle {
  return { request_id, status_url, response_url, cancel_url };
}

function sameOrigin(url: unknown, origin: string): boolean {
  return typeof url === 'string' && URL.canParse(url) && new URL(url).origin === origin;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function statusMessage({ status }: JsonAnswer): string {
  return `The upstream answered ${status}.`;
}
