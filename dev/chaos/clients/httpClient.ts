import { request } from 'undici';
import { addViolation } from './violations.ts';
import { StoppedError, type ClientState } from './clientState.ts';

/** So long a client waits for an answer. */
const REQUEST_TIMEOUT_MS = 20_000;

export interface HttpMessage {
  /** What it is counted as. */
  kind: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  address: string;
  headers: Record<string, string>;
  body?: object | undefined;
}

/** What came back. Moments are in milliseconds, as of `performance.now`. */
export interface HttpReply {
  status: number | 'cut' | 'timeout';
  headers: Record<string, string | string[] | undefined>;
  text: string;
  address: string;
  beganAt: number;
  endedAt: number;
}

/** Sends a request, once. @throws Stopped when no more are to be begun. */
export async function sendHttp({ agent, stopping }: ClientState, message: HttpMessage): Promise<HttpReply> {
  if (stopping.signal.aborted) throw new StoppedError();
  const { method, path, address, headers, body } = message;
  const beganAt = performance.now();
  try {
    const answer = await request(new URL(path, address), {
      method,
      dispatcher: agent,
      headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    const text = await answer.body.text();
    const { statusCode: status, headers: answered } = answer;
    return { status, headers: answered, text, address, beganAt, endedAt: performance.now() };
  } catch (error) {
    const status = (error as Error).name === 'TimeoutError' ? 'timeout' : 'cut';
    return { status, headers: {}, text: '', address, beganAt, endedAt: performance.now() };
  }
}

/** Enters a request into the books when it has ended. */
export function recordRequest({ store }: ClientState, kind: string, reply: HttpReply, code: string | null): void {
  const durationMs = Math.round(reply.endedAt - reply.beganAt);
  const entry = {
    at: Date.now() - durationMs,
    kind,
    address: reply.address,
    status: reply.status,
    code,
    durationMs,
  };
  store.requests.push(entry);
  store.onResponse?.(entry);
}

/** A fault of the service is wrong, whatever was asked for. */
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

// oxlint-disable-next-line typescript/no-explicit-any -- answers have many shapes, which `responseShapes.ts` has looked at
export type Json = any;

/** The JSON of an answer; undefined where it is empty or none. */
export function parseJson(text: string): Json {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
