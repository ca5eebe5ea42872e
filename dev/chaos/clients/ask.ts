import { ERROR_STATUS, type ErrorCode } from '../../../shared/spec/errors.ts';
import type { KeyTold } from './books.ts';
import { goodKeysOf } from './customers.ts';
import { accuseOfFault, enter, type Json, type Message, parsed, type Reply, send } from './send.ts';
import { problemOf, type Shape } from './shapes.ts';
import { accuseOf, type Turn } from './world.ts';

/** What is asked of the REST interface. */
export interface Question {
  kind: string;
  method: Message['method'];
  path: string;
  body?: object;
  headers?: Record<string, string>;
  /** Anywhere, if it is not given. */
  address?: string;
  /** What it may be refused for, other than that the service is out of reach. */
  mayBe?: readonly ErrorCode[];
  /** What it is answered with. */
  status: number;
  shape: Shape;
}

/** An answer as a client understands it. */
export interface Answer extends Reply {
  /** Of an error; null where there is none, or no answer. */
  code: ErrorCode | null;
  body: Json;
  isGood: boolean;
  /** Whether it may have been done, or may not. */
  isUnknown: boolean;
}

/** Asks with an API key: one that should be good, unless it is given. */
export async function ask(turn: Turn, question: Question, key = pickKey(turn)): Promise<Answer> {
  const credential: Record<string, string> = turn.random.chance(0.2)
    ? { 'x-api-key': key.key }
    : { authorization: `Bearer ${key.key}` };
  const answer = await askWith(turn, { ...question, headers: { ...credential, ...question.headers } });
  judgeKey(turn, key, answer, question.kind);
  return answer;
}

/** Asks with the headers that it has. */
export async function askWith(turn: Turn, question: Question): Promise<Answer> {
  const { world, random } = turn;
  const { kind, method, path, body, headers = {}, address = random.pick(world.addresses) } = question;
  const reply = await send(world, { kind, method, path, address, headers, body });
  const answer = understand(reply, question.status);
  enter(world, kind, reply, answer.code);
  judge(turn, question, answer);
  return answer;
}

/** An account always has a good key when it is ready: the last one is not revoked. */
export function pickKey({ customer, random }: Turn): KeyTold {
  return random.pick(goodKeysOf(customer));
}

function understand(reply: Reply, good: number): Answer {
  const { status } = reply;
  const body = parsed(reply.text);
  const isError = typeof status === 'number' && status >= 400;
  const code = isError && typeof body?.error === 'string' ? (body.error as ErrorCode) : null;
  const isUnknown = typeof status !== 'number' || (status >= 500 && code !== 'model_unavailable');
  return { ...reply, body, code, isGood: status === good, isUnknown };
}

function judge(turn: Turn, { kind, method, path, status: good, shape, mayBe = [] }: Question, answer: Answer): void {
  const { status, code, body, text } = answer;
  if (typeof status !== 'number') return;
  const subject = `${method} ${path}`;
  const told = `${status} ${text.slice(0, 300)}`;
  if (status === 500) return accuseOfFault(turn.world, turn.customer.uuid, kind, answer);
  if (status === good) {
    const problem = problemOf(shape, body);
    if (problem !== null) accuseOf(turn, 'answers-as-described', subject, `${problem}: ${told}`);
    return;
  }
  const envelope = envelopeProblem(answer);
  if (envelope !== null) return accuseOf(turn, 'errors-in-the-envelope', subject, `${envelope}: ${told}`);
  // Keys are judged for themselves; sessions end.
  if (code === 'invalid_api_key' || status === 503) return;
  if (code === null || !mayBe.includes(code)) accuseOf(turn, 'expected-answers-only', subject, told);
}

function envelopeProblem({ status, code, body, headers }: Answer): string | null {
  if (code === null || !(code in ERROR_STATUS)) return 'the code is none';
  if (typeof body.detail !== 'string' || body.detail === '') return 'no detail';
  if (status === 503 && code === 'internal_error')
    return headers['retry-after'] === undefined ? 'no Retry-After' : null;
  return status === ERROR_STATUS[code] ? null : 'the status is not that of the code';
}

function judgeKey(turn: Turn, key: KeyTold, { status, beganAt, text }: Answer, kind: string): void {
  if (status === 401 && key.revokeAskedAt === null) {
    accuseOf(turn, 'good-key-is-accepted', key.uuid, `${kind}: ${text.slice(0, 200)}`);
  }
  const isRefused = typeof status !== 'number' || status === 401 || status === 429 || status >= 500;
  if (!isRefused && key.revokedAt !== null && beganAt > key.revokedAt) {
    const late = Math.round(beganAt - key.revokedAt);
    accuseOf(
      turn,
      'revoked-key-is-refused',
      key.uuid,
      `${kind} was answered ${status}, ${late} ms after the revocation`,
    );
  }
}
