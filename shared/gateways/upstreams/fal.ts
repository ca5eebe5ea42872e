import type { Kind } from '../../spec/catalog.ts';
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
export function falUpstream({ upstream: { baseUrl, key }, modelId, kind }: Route): Upstream {
  const headers = { authorization: `Key ${key}`, accept: 'application/json' };
  const origin = new URL(baseUrl).origin;
  // fal keeps the requests of all the paths of an app in one place: owner and app, without the path.
  const app = modelId.split('/').slice(0, 2).join('/');

  /** Our key goes to the queue's own address and nowhere else. */
  function ask(method: 'GET' | 'PUT', url: string): Promise<JsonAnswer> {
    if (!sameOrigin(url, origin)) throw new UpstreamError('unavailable', `${url} is not an address of this upstream`);
    return exchange(method, url, { headers });
  }

  async function submit({ input }: UpstreamJob): Promise<Submission> {
    const answer = await exchange('POST', `${baseUrl}/${modelId}`, { headers, body: input });
    if (answer.status === 200 && isHandle(answer.body, origin)) return { state: 'accepted', handle: pick(answer.body) };
    // Said by fal itself: the same request would fail the same way.
    if (answer.status >= 500 && answer.headers['x-fal-retryable'] === 'false') {
      throw new UpstreamError('refused', failureMessage(answer.body));
    }
    throw notSubmitted(answer, failureMessage);
  }

  async function check(handle: UpstreamHandle): Promise<UpstreamProgress> {
    const { status_url: statusUrl, response_url: responseUrl } = handle as FalHandle;
    const status = await asked(() => ask('GET', statusUrl));
    if (status.status === 202) return { state: 'running' };
    if (status.status === 404) throw new UpstreamError('gone', 'The upstream does not know the request.');
    if (status.status !== 200 || fieldOf(status.body, 'status') === undefined) throw unavailable(status);
    if (fieldOf(status.body, 'status') !== 'COMPLETED') return { state: 'running' };
    const result = await asked(() => ask('GET', responseUrl));
    if (result.status === 200) return outputOf(result.body, kind);
    if (isNoResultYet(result, status)) throw unavailable(result);
    return { state: 'failed', message: failureMessage(result.body, status.body) };
  }

  async function cancel(handle: UpstreamHandle): Promise<void> {
    await ask('PUT', (handle as FalHandle).cancel_url);
  }

  async function probe(): Promise<void> {
    const answer = await asked(() => ask('GET', `${baseUrl}/${app}/requests/${NO_SUCH_REQUEST}/status`));
    const understood = answer.status < 500 && ![401, 403, 429].includes(answer.status);
    if (!understood || answer.body === undefined) throw unavailable(answer);
  }

  return { kind, isSynchronous: false, submit, check, cancel, probe };
}

/** Whether the queue did not give the result out, rather than the job having none. */
function isNoResultYet(result: JsonAnswer, status: JsonAnswer): boolean {
  if ([401, 403, 404, 408, 429].includes(result.status)) return true;
  if (result.status < 500 || result.headers['x-fal-retryable'] === 'false') return false;
  return textOf(fieldOf(status.body, 'error')) === undefined && typeOf(result.body) === undefined;
}

function outputOf(body: unknown, kind: Kind): UpstreamProgress {
  const images = fieldOf(body, 'images');
  const output = kind === 'video' ? fieldOf(body, 'video') : Array.isArray(images) ? (images[0] as unknown) : undefined;
  const url = fieldOf(output, 'url');
  if (typeof url !== 'string') return { state: 'failed', message: MESSAGES.noOutput };
  return { state: 'succeeded', output: { url }, isWatermarked: fieldOf(body, 'watermarked') === true };
}

/** What fal calls a fault (`type` of a model's error, `error_type` of the queue's), in words for a customer. */
const MEANINGS: Record<string, string> = {
  content_policy_violation: MESSAGES.notAllowed,
  no_media_generated: 'The model could not generate what was asked for. Please change the prompt and try again.',
  generation_timeout: MESSAGES.tookTooLong,
  request_timeout: MESSAGES.tookTooLong,
  startup_timeout: MESSAGES.tookTooLong,
  client_cancelled: MESSAGES.cancelled,
  client_disconnected: MESSAGES.brokeDown,
  downstream_service_error: MESSAGES.brokeDown,
  downstream_service_unavailable: MESSAGES.brokeDown,
  internal_server_error: MESSAGES.brokeDown,
  internal_error: MESSAGES.brokeDown,
};

/** `detail` is a sentence with an `error_type` beside it, or a list of `{ type, msg }`. */
function failureMessage(body: unknown, status?: unknown): string {
  const type = typeOf(body) ?? typeOf(status);
  const known = type === undefined ? undefined : Object.hasOwn(MEANINGS, type) ? MEANINGS[type] : undefined;
  if (known !== undefined) return known;
  if (type?.startsWith('runner_') === true) return MESSAGES.brokeDown;
  const detail = fieldOf(body, 'detail');
  const messages = Array.isArray(detail) ? detail.map((entry) => textOf(fieldOf(entry, 'msg'))) : [textOf(detail)];
  const said = messages.filter((message) => message !== undefined).join('; ');
  return said === '' ? MESSAGES.notMade : sentence(said);
}

function typeOf(body: unknown): string | undefined {
  const detail = fieldOf(body, 'detail');
  return textOf(fieldOf(body, 'error_type')) ?? textOf(fieldOf(Array.isArray(detail) ? detail[0] : undefined, 'type'));
}

const HANDLE_FIELDS = ['request_id', 'status_url', 'response_url', 'cancel_url'] as const;

function isHandle(body: unknown, origin: string): body is FalHandle {
  return (
    HANDLE_FIELDS.every((name) => isPlain(fieldOf(body, name))) &&
    HANDLE_FIELDS.slice(1).every((name) => sameOrigin(fieldOf(body, name), origin))
  );
}

function pick({ request_id, status_url, response_url, cancel_url }: FalHandle): FalHandle {
  return { request_id, status_url, response_url, cancel_url };
}
