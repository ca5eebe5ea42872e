import { Readable } from 'node:stream';
import { request } from 'undici';
import { TOPUP_UNKNOWN_DETAIL } from '../../../shared/domain/generations/create.ts';
import { addViolation } from '../rules.ts';
import { StoppedError, type Step } from './clientState.ts';

/** Maximum time that a client waits for a response. */
const REQUEST_TIMEOUT_MS = 20_000;

export interface HttpMessage {
  method: string;
  path: string;
  address: string;
  headers?: Record<string, string>;
  body?: string | Buffer | Readable | null;
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
export async function sendHttp(
  { state: { agent, stopping } }: Pick<Step, 'state'>,
  { path, address, headers = {}, body = null, method }: HttpMessage,
): Promise<HttpReply> {
  if (stopping.signal.aborted) throw new StoppedError();
  const beganAt = performance.now();
  try {
    const response = await request(new URL(path, address), {
      method: method as 'GET',
      dispatcher: agent,
      headers,
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

/** @param heldBack holds back the second half until it resolves. */
export function encodeJson(body: object, heldBack?: Promise<unknown>): Pick<HttpMessage, 'headers' | 'body'> {
  const text = JSON.stringify(body);
  return {
    headers: { 'content-type': 'application/json' },
    body: heldBack === undefined ? text : Readable.from(sendInHalves(text, heldBack)),
  };
}

export function encodeForm(form: Record<string, string>): Pick<HttpMessage, 'headers' | 'body'> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return { headers, body: new URLSearchParams(form).toString() };
}

async function* sendInHalves(text: string, heldBack: Promise<unknown>): AsyncGenerator<string> {
  const middle = Math.floor(text.length / 2);
  yield text.slice(0, middle);
  await heldBack;
  yield text.slice(middle);
}

/** Records a request that has ended, and reports a 500: a fault of the service is always a violation. */
export function recordRequest(step: Step, kind: string, reply: HttpReply, code: string | null): void {
  const { journal } = step.state;
  const durationMs = Math.round(reply.endedAt - reply.beganAt);
  const { address, status, text } = reply;
  const isTopupUnknown = text.includes(TOPUP_UNKNOWN_DETAIL);
  const entry = { at: Date.now() - durationMs, kind, address, status, code, isTopupUnknown, durationMs };
  journal.requests.push(entry);
  journal.onResponse?.(entry);
  if (status === 500) reportInternalError(step, kind, reply);
}

export function reportInternalError({ state, customer }: Step, kind: string, reply: HttpReply): void {
  const id = String(reply.headers['x-request-id'] ?? 'without an id');
  const detail = `${reply.status}: ${reply.text.slice(0, 500)}`;
  addViolation(state.journal.violations, 'no-internal-errors', customer.uuid, `${kind} ${id}`, detail);
}

// oxlint-disable-next-line typescript/no-explicit-any -- responses have many shapes, which `responseSchemas.ts` validates
export type Json = any;

/** Parses the JSON of a response; undefined if it is empty or invalid. */
export function parseJson(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
