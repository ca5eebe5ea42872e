import type { ErrorCode } from '../../../shared/spec/errors.ts';
import { ERROR_STATUS } from '../../../shared/spec/errors.ts';
import { pickKey } from './ask.ts';
import type { KeyTold } from './books.ts';
import { accuseOfFault, enter, type Json, parsed, type Reply, send } from './send.ts';
import { accuseOf, type Turn } from './world.ts';

/** Streamable HTTP, as a client that is written by hand speaks it (docs/mcp.md). */
const VERSION = '2025-11-25';
const ACCEPT = 'application/json, text/event-stream';

/** What a tool said. */
export interface ToolAnswer extends Reply {
  code: ErrorCode | null;
  structured: Json;
  isGood: boolean;
  /** Whether it may have been done, or may not. */
  isUnknown: boolean;
  /** There is no such session any more: nothing was done. */
  isSessionGone: boolean;
}

export interface ToolCall {
  name: string;
  args: object;
  /** Of the request, within the session. */
  id: number;
  idempotencyKey: string | null;
  mayBe: readonly ErrorCode[];
}

/** Opens a session, unless the customer has one. @returns whether there is one. */
export async function openSession(turn: Turn): Promise<boolean> {
  const { customer, world, random } = turn;
  if (customer.session !== null) return true;
  const reply = await initialize(turn, pickKey(turn), random.pick(world.addresses));
  const id = reply.headers['mcp-session-id'];
  if (reply.status !== 200) return false;
  if (typeof id !== 'string') {
    accuseOf(turn, 'answers-as-described', 'initialize', `no session: ${reply.text.slice(0, 300)}`);
    return false;
  }
  customer.session = { id, requests: 0 };
  return true;
}

/** Introduces a client. */
export async function initialize(turn: Turn, key: KeyTold, address: string): Promise<Reply> {
  const params = { protocolVersion: VERSION, capabilities: {}, clientInfo: { name: 'chaos', version: '1.0.0' } };
  const body = { jsonrpc: '2.0', id: 0, method: 'initialize', params };
  const kind = 'mcp initialize';
  const headers = { accept: ACCEPT, authorization: `Bearer ${key.key}` };
  const reply = await send(turn.world, { kind, method: 'POST', path: '/mcp', address, headers, body });
  enter(turn.world, kind, reply, codeOf(reply));
  judgeTransport(turn, kind, reply, key);
  return reply;
}

/** Calls a tool in the customer's session. */
export async function callTool(turn: Turn, { name, args, id, idempotencyKey, mayBe }: ToolCall): Promise<ToolAnswer> {
  const { world, customer, random } = turn;
  const key = pickKey(turn);
  const session = customer.session?.id ?? '';
  const meta = idempotencyKey === null ? {} : { _meta: { idempotencyKey } };
  const body = { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, ...meta } };
  const kind = `mcp ${name}`;
  const headers = {
    accept: ACCEPT,
    authorization: `Bearer ${key.key}`,
    'mcp-session-id': session,
    'mcp-protocol-version': VERSION,
  };
  const address = random.pick(world.addresses);
  const reply = await send(world, { kind, method: 'POST', path: '/mcp', address, headers, body });
  const message = reply.status === 200 ? messageIn(reply, id) : undefined;
  const told: Reply = reply.status === 200 && message === undefined ? { ...reply, status: 'cut' } : reply;
  const answer = understand(told, message);
  enter(world, kind, told, answer.code ?? codeOf(told));
  judgeTransport(turn, kind, told, key);
  if (message !== undefined) judgeTool(turn, kind, answer, message, mayBe);
  // Somebody else may have opened a new one in the meantime.
  if (answer.isSessionGone && customer.session?.id === session) customer.session = null;
  return answer;
}

function understand(reply: Reply, message: Json): ToolAnswer {
  const { status } = reply;
  const result = message?.result;
  const structured = result?.structuredContent;
  const isError = result?.isError === true;
  const refusal = isError ? structured?.error : status === 200 ? undefined : parsed(reply.text)?.error;
  const code = typeof refusal === 'string' ? (refusal as ErrorCode) : null;
  const isGood = result !== undefined && !isError;
  const isLost = typeof status !== 'number' || status === 202 || status >= 500;
  const isUnknown = !isGood && (isLost || code === 'internal_error');
  return { ...reply, code, structured, isGood, isUnknown, isSessionGone: status === 404 };
}

/** The answer to a request: the body, or an event of the stream that the body is; undefined where it was cut off. */
function messageIn({ headers, text }: Reply, id: number): Json {
  if (!String(headers['content-type']).startsWith('text/event-stream')) return parsed(text);
  const events = text.split('\n\n').map((event) => /^data: ?(.+)$/m.exec(event)?.[1]);
  return events.map((data) => parsed(data ?? '')).find((message) => message?.id === id);
}

/** Of a request that was refused before it came to a tool. */
function codeOf({ status, text }: Reply): string | null {
  if (typeof status !== 'number' || status < 400) return null;
  const error = parsed(text)?.error;
  return typeof error === 'string' ? error : `JSON-RPC ${error?.code}`;
}

function judgeTransport(turn: Turn, kind: string, reply: Reply, key: KeyTold): void {
  const { status, text, beganAt, headers } = reply;
  if (typeof status !== 'number') return;
  if (status === 500) return accuseOfFault(turn.world, turn.customer.uuid, kind, reply);
  if (status === 401 && key.revokeAskedAt === null) {
    accuseOf(turn, 'good-key-is-accepted', key.uuid, `${kind}: ${text.slice(0, 200)}`);
  }
  if (status === 200 && key.revokedAt !== null && beganAt > key.revokedAt) {
    const late = Math.round(beganAt - key.revokedAt);
    accuseOf(turn, 'revoked-key-is-refused', key.uuid, `${kind} was answered ${late} ms after the revocation`);
  }
  const told = `${status} ${text.slice(0, 300)}`;
  if (status === 503 && headers['retry-after'] === undefined) accuseOf(turn, 'errors-in-the-envelope', kind, told);
  if ([200, 202, 401, 404, 503].includes(status)) return;
  accuseOf(turn, 'expected-answers-only', kind, told);
}

function judgeTool(turn: Turn, kind: string, answer: ToolAnswer, message: Json, mayBe: readonly ErrorCode[]): void {
  const { code, structured } = answer;
  const told = JSON.stringify(message).slice(0, 400);
  if (answer.isGood) return;
  if (message.error !== undefined) return accuseOf(turn, 'expected-answers-only', kind, told);
  if (code === null || !(code in ERROR_STATUS) || typeof structured.detail !== 'string') {
    return accuseOf(turn, 'errors-in-the-envelope', kind, told);
  }
  // A tool has no status: that it was an outage, and no fault, shows in what it says.
  if (code === 'internal_error') {
    if (structured.detail.startsWith('Something failed')) accuseOfFault(turn.world, turn.customer.uuid, kind, answer);
  } else if (code !== 'invalid_api_key' && !mayBe.includes(code)) accuseOf(turn, 'expected-answers-only', kind, told);
}
