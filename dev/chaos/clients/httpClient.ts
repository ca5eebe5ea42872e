import { Readable } from 'node:stream';
import { request } from 'undici';
import { TOPUP_UNKNOWN_DETAIL } from '../../../shared/domain/generations/create.ts';
import { addViolation } from './violations.ts';
import { StoppedError, type ClientState } from './clientState.ts';

/** Maximum time that a client waits for a response. */
const REQUEST_TIMEOUT_MS = 20_000;

export interface HttpMessage {
  /** Kind of request in the statistics. */
  kind: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  address: string;
  headers: Record<string, string>;
  /** Sent as JSON. */
  body?: object | undefined;
  /** Holds back the second half of the JSON until it resolves. */
  heldBack?: Promise<unknown> | undefined;
  /** Sent as a form. */
  form?: Record<string, string> | undefined;
  /** Sent as it is. Its type is in the headers. */
  file?: Buffer | undefined;
}

/** An HTTP response. Times are in milliseconds, as of `performance.now`. */
export interface HttpReply {
  status: number | 'cut' | 'timeout';
  headers: Record<string, string | string[] | undefined>;
  text: string;
  address: string;
  beganAt: number;
  endedAt: number;
}

/** Sends a request once. @throws StoppedError if no more requests may begin. */
export async function sendHttp({ agent, stopping }: ClientState, message: HttpMessage): Promise<HttpReply> {
  if (stopping.signal.aborted) throw new StoppedError();
  const { method, path, address, headers } = message;
  const [contentType, body] = encodeBody(message);
  const beganAt = performance.now();
  try {
    const response = await request(new URL(path, address), {
      method,
      dispatcher: agent,
      headers: contentType === null ? headers : { 'content-type': contentType, ...headers },
      body,
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    const text = await response.body.text();
    const { statusCode: status, headers: answered } = response;
    return { status, headers: answered, text, address, beganAt, endedAt: performance.now() };
  } catch (error) {
    const status = (error as Error).name === 'TimeoutError' ? 'timeout' : 'cut';
    return { status, headers: {}, text: '', address, beganAt, endedAt: performance.now() };
  }
}

function encodeBody({ body, form, file, heldBack }: HttpMessage): [contentType: string | null, body: RequestBody] {
  if (file !== undefined) return [null, file];
  if (heldBack !== undefined) return ['application/json', Readable.from(sendInHalves(JSON.stringify(body), heldBack))];
  if (form !== undefined) return ['application/x-www-form-urlencoded', new URLSearchParams(form).toString()];
  return body === undefined ? [null, null] : ['application/json', JSON.stringify(body)];
}

type RequestBody = string | Buffer | Readable | null;

async function* sendInHalves(text: string, heldBack: Promise<unknown>): AsyncGenerator<string> {
  const middle = Math.floor(text.length / 2);
  yield text.slice(0, middle);
  await heldBack;
  yield text.slice(middle);
}

/** Records a request when it has ended. */
export function recordRequest({ store }: ClientState, kind: string, reply: HttpReply, code: string | null): void {
  const durationMs = Math.round(reply.endedAt - reply.beganAt);
  const entry = {
    at: Date.now() - durationMs,
    kind,
    address: reply.address,
    status: reply.status,
    code,
    isTopupUnknown: reply.text.includes(TOPUP_UNKNOWN_DETAIL),
    durationMs,
  };
  store.requests.push(entry);
  store.onResponse?.(entry);
}

/** Reports a 500: a fault of the service is always a violation. */
export function reportInternalError(
  { store }: ClientState,
  accountUuid: string | null,
  kind: string,
  reply: HttpReply,
): void {
  const id = String(reply.headers['x-request-id'] ?? 'without an id');
  addViolation(
    store.violations,
    'no-internal-errors',
    accountUuid,
    `${kind} ${id}`,
    `${reply.status}: ${reply.text.slice(0, 500)}`,
  );
}

// oxlint-disable-next-line typescript/no-explicit-any -- responses have many shapes, which `responseShapes.ts` validates
export type Json = any;

/** Parses the JSON of a response; undefined if it is empty or invalid. */
export function parseJson(text: string): Json {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
