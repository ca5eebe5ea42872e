import { request } from 'undici';
import { accuse } from './violations.ts';
import { Stopped, type World } from './world.ts';

/** So long a client waits for an answer. */
const PATIENCE_MS = 20_000;

export interface Message {
  /** What it is counted as. */
  kind: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  address: string;
  headers: Record<string, string>;
  body?: object | undefined;
}

/** What came back. Moments are in milliseconds, as of `performance.now`. */
export interface Reply {
  status: number | 'cut' | 'timeout';
  headers: Record<string, string | string[] | undefined>;
  text: string;
  address: string;
  beganAt: number;
  endedAt: number;
}

/** Sends a request, once. @throws Stopped when no more are to be begun. */
export async function send({ agent, stopping }: World, message: Message): Promise<Reply> {
  if (stopping.signal.aborted) throw new Stopped();
  const { method, path, address, headers, body } = message;
  const beganAt = performance.now();
  try {
    const answer = await request(new URL(path, address), {
      method,
      dispatcher: agent,
      headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE_MS),
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
export function enter({ books }: World, kind: string, reply: Reply, code: string | null): void {
  const durationMs = Math.round(reply.endedAt - reply.beganAt);
  const entry = {
    at: Date.now() - durationMs,
    kind,
    address: reply.address,
    status: reply.status,
    code,
    durationMs,
  };
  books.requests.push(entry);
  books.onAnswer?.(entry);
}

/** A fault of the service is wrong, whatever was asked for. */
export function accuseOfFault({ books }: World, accountUuid: string | null, kind: string, reply: Reply): void {
  const id = String(reply.headers['x-request-id'] ?? 'without an id');
  accuse(
    books.violations,
    'no-internal-errors',
    accountUuid,
    `${kind} ${id}`,
    `${reply.status}: ${reply.text.slice(0, 500)}`,
  );
}

// oxlint-disable-next-line typescript/no-explicit-any -- answers have many shapes, which `shapes.ts` has looked at
export type Json = any;

/** The JSON of an answer; undefined where it is empty or none. */
export function parsed(text: string): Json {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
