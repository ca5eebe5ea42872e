import { ERROR_STATUS, type ErrorCode } from '../../../shared/spec/errors.ts';
import {
  buildMcpHeaders,
  buildStatelessCallHeaders,
  buildToolCall,
  INITIALIZE,
  parseEvents,
  STATELESS_META,
} from '../../local/mcpMessages.ts';
import { pickKey, verifyKeyUse, verifySuspension } from './api.ts';
import { report, type Step } from './clientState.ts';
import { type CreateRequest, recordCreateResponse, recordSent } from './createRequests.ts';
import { type AccessToken, mayBeSuspended } from './customers.ts';
import {
  encodeJson,
  type HttpReply,
  type Json,
  parseJson,
  recordRequest,
  reportInternalError,
  sendHttp,
} from './httpClient.ts';
import { APPLICATION_CALL, type ObservedKey } from './journal.ts';
import { findOutputProblem } from './responseSchemas.ts';

/** The result of a tool call. */
export interface ToolResult extends HttpReply {
  code: ErrorCode | null;
  structured: Json;
  isGood: boolean;
  /** True if the call may or may not have taken effect. */
  isUnknown: boolean;
}

export interface ToolCall {
  name: string;
  args?: object;
  /** Id of the request within the session. */
  id: number;
  idempotencyKey?: string | null;
  expects?: readonly ErrorCode[];
  /** Schema of a good result. */
  output: 'generation' | 'library' | 'usage';
  /** Token of an application, which calls without a session. Default: a key, in the customer's session. */
  token?: AccessToken | undefined;
  /** Holds back a part of the call until it resolves. */
  heldBack?: Promise<unknown> | undefined;
}

/** Opens a session, unless the customer has one. @returns true if there is one. */
export async function openMcpSession(step: Step): Promise<boolean> {
  const { customer, state, random } = step;
  if (customer.session !== null) return true;
  const reply = await initializeMcp(step, pickKey(step), random.pick(state.addresses));
  const id = reply.headers['mcp-session-id'];
  if (reply.status !== 200) return false;
  if (typeof id !== 'string') {
    report(step, 'responses-match-their-schema', 'initialize', `no session: ${reply.text.slice(0, 300)}`);
    return false;
  }
  customer.session = { id, requests: 0 };
  return true;
}

/** Initializes a client. */
export async function initializeMcp(step: Step, key: ObservedKey, address: string): Promise<HttpReply> {
  const reply = await sendMcp(step, address, buildMcpHeaders(key.key), INITIALIZE);
  recordRequest(step, 'mcp initialize', reply, readTransportErrorCode(reply));
  verifyTransport(step, 'mcp initialize', reply, key);
  return reply;
}

function sendMcp(step: Step, address: string, headers: object, body: object, heldBack?: Promise<unknown>) {
  const encoded = encodeJson(body, heldBack);
  const message = { method: 'POST', path: '/mcp', address, ...encoded, headers: { ...encoded.headers, ...headers } };
  return sendHttp(step, message);
}

/** Creates with a tool once, and records the outcome. */
export async function createByTool(
  step: Step,
  request: CreateRequest,
  { expects = [], ...options }: Pick<ToolCall, 'id' | 'expects' | 'token' | 'heldBack'>,
): Promise<ToolResult> {
  const { observed, params } = request;
  recordSent(step, request);
  const response = await callTool(step, {
    name: observed.model === 'imgmodel-2' ? 'generate_image' : 'generate_video',
    args: { prompt: observed.prompt, ...params },
    idempotencyKey: observed.idempotencyKey,
    expects: [
      'subscription_required',
      'insufficient_credits',
      'parallel_limit_reached',
      'model_unavailable',
      ...expects,
    ],
    output: 'generation',
    ...options,
  });
  recordCreateResponse(step, request, response, response.structured, 'MCP');
  return response;
}

/** Calls a tool, and checks the response. */
export async function callTool(step: Step, toolCall: ToolCall): Promise<ToolResult> {
  const { name, args = {}, id, idempotencyKey = null, token, heldBack } = toolCall;
  const { state, customer, random } = step;
  const key = token ?? pickKey(step);
  const session = token === undefined ? (customer.session?.id ?? '') : undefined;
  const meta = {
    ...(token === undefined ? {} : STATELESS_META),
    ...(idempotencyKey === null ? {} : { idempotencyKey }),
  };
  const kind =
    token === undefined ? `mcp ${name}` : name.startsWith('generate_') ? APPLICATION_CALL : `mcp ${name} by a token`;
  const headers = {
    ...buildMcpHeaders(key.key, session),
    ...(token === undefined ? {} : buildStatelessCallHeaders(name)),
  };
  const address = token?.address ?? random.pick(state.addresses);
  const reply = await sendMcp(step, address, headers, buildToolCall(name, args, id, meta), heldBack);
  const message = reply.status === 200 ? findMessage(reply, id) : undefined;
  const observed: HttpReply = reply.status === 200 && message === undefined ? { ...reply, status: 'cut' } : reply;
  const response = interpretToolResult(observed, message);
  recordRequest(step, kind, observed, response.code ?? readTransportErrorCode(observed));
  verifyTransport(step, kind, observed, key);
  if (message !== undefined) verifyToolResult(step, kind, response, message, toolCall);
  // The session does not exist any more. Another client of this customer may have opened a new one in the meantime.
  if (response.status === 404 && customer.session?.id === session) customer.session = null;
  return response;
}

function interpretToolResult(reply: HttpReply, message: Json): ToolResult {
  const { status } = reply;
  const result = message?.result;
  const structured = result?.structuredContent;
  const isError = result?.isError === true;
  const rejection = isError ? structured?.error : status === 200 ? undefined : parseJson(reply.text)?.error;
  const code = typeof rejection === 'string' ? (rejection as ErrorCode) : null;
  const isGood = result !== undefined && !isError;
  const isLost = typeof status !== 'number' || status === 202 || status >= 500;
  return { ...reply, code, structured, isGood, isUnknown: !isGood && (isLost || code === 'internal_error') };
}

/** Finds the response to a request: the body, or an event in the body's stream; undefined if it was cut off. */
function findMessage({ headers, text }: HttpReply, id: number): Json {
  if (!String(headers['content-type']).startsWith('text/event-stream')) return parseJson(text);
  return parseEvents(text)
    .events.map(({ data }) => parseJson(data))
    .find((message) => message?.id === id);
}

/** Reads the error code of a request that was rejected before it reached a tool. */
function readTransportErrorCode({ status, text }: HttpReply): string | null {
  if (typeof status !== 'number' || status < 400) return null;
  const error = parseJson(text)?.error;
  return typeof error === 'string' ? error : `JSON-RPC ${error?.code}`;
}

function verifyTransport(step: Step, kind: string, reply: HttpReply, key: ObservedKey): void {
  const { status, text, headers } = reply;
  verifySuspension(step, kind, reply);
  if (typeof status !== 'number' || status === 500) return;
  if (status === 200 || (status === 401 && !mayHaveExpired(step.state, key))) verifyKeyUse(step, key, kind, reply);
  const observed = `${status} ${text.slice(0, 300)}`;
  if (status === 503 && headers['retry-after'] === undefined) report(step, 'errors-use-the-envelope', kind, observed);
  if ([200, 202, 401, 404, 503].includes(status)) return;
  if (status === 403 && mayBeSuspended(step.customer, reply)) return;
  report(step, 'expected-responses-only', kind, observed);
}

function verifyToolResult(
  step: Step,
  kind: string,
  response: ToolResult,
  message: Json,
  { output, expects = [] }: ToolCall,
): void {
  const { code, structured } = response;
  const observed = JSON.stringify(message).slice(0, 400);
  if (response.isGood) {
    const problem = findOutputProblem(output, structured);
    if (problem !== null) report(step, 'responses-match-their-schema', output, `${problem}: ${observed}`);
    return;
  }
  if (message.error !== undefined) return report(step, 'expected-responses-only', kind, observed);
  if (code === null || !(code in ERROR_STATUS) || typeof structured.detail !== 'string')
    return report(step, 'errors-use-the-envelope', kind, observed);
  // Tool results have no status: only the text distinguishes an outage from a fault.
  if (code === 'internal_error') {
    if (structured.detail.startsWith('Something failed')) reportInternalError(step, kind, response);
    return;
  }
  // The suspension was committed after the request was authenticated.
  if (code === 'account_suspended' && mayBeSuspended(step.customer, response)) return;
  if (code !== 'invalid_api_key' && !expects.includes(code)) report(step, 'expected-responses-only', kind, observed);
}

/** The clock of a process may be off by a minute, and that of a request by its duration. */
const EXPIRY_MARGIN_MS = 3 * 60_000;

/** Returns true if a time has passed, or will soon. Months pass during a run. */
export function isSoonOver(clock: { now(): Date }, time: Date): boolean {
  return clock.now().getTime() + EXPIRY_MARGIN_MS > time.getTime();
}

/** Returns true if a credential is a token that is, or will soon be, too old. */
export function mayHaveExpired(clock: { now(): Date }, key: ObservedKey | AccessToken): boolean {
  return 'expiresAt' in key && isSoonOver(clock, key.expiresAt);
}
