import type { ErrorCode } from '../../../shared/spec/errors.ts';
import { ERROR_STATUS } from '../../../shared/spec/errors.ts';
import {
  buildMcpHeaders,
  buildStatelessCallHeaders,
  buildToolCall,
  INITIALIZE,
  parseEvents,
  STATELESS_META,
} from '../../local/mcpMessages.ts';
import { pickKey, verifySuspension } from './restRequests.ts';
import { mayBeSuspended } from './suspensions.ts';
import { APPLICATION_CALL, type ObservedKey } from './clientStore.ts';
import { type AccessToken, mayHaveExpired } from './accessTokens.ts';
import { reportInternalError, recordRequest, type Json, parseJson, type HttpReply, sendHttp } from './httpClient.ts';
import { reportViolation, type Step } from './clientState.ts';

/** The result of a tool call. */
export interface ToolResult extends HttpReply {
  code: ErrorCode | null;
  structured: Json;
  isGood: boolean;
  /** True if the call may or may not have taken effect. */
  isUnknown: boolean;
  /** The session does not exist any more: the call had no effect. */
  isSessionGone: boolean;
}

export interface ToolCall {
  name: string;
  args: object;
  /** Id of the request within the session. */
  id: number;
  idempotencyKey: string | null;
  expectedErrors: readonly ErrorCode[];
  /** Token of an application, which calls without a session. Default: a key, in the customer's session. */
  token?: AccessToken;
  /** Holds back a part of the call until it resolves. */
  heldBack?: Promise<unknown>;
}

/** Opens a session, unless the customer has one. @returns true if there is one. */
export async function openMcpSession(step: Step): Promise<boolean> {
  const { customer, state, random } = step;
  if (customer.session !== null) return true;
  const reply = await initializeMcp(step, pickKey(step), random.pick(state.addresses));
  const id = reply.headers['mcp-session-id'];
  if (reply.status !== 200) return false;
  if (typeof id !== 'string') {
    reportViolation(step, 'responses-match-their-schema', 'initialize', `no session: ${reply.text.slice(0, 300)}`);
    return false;
  }
  customer.session = { id, requests: 0 };
  return true;
}

/** Initializes a client. */
export async function initializeMcp(step: Step, key: ObservedKey, address: string): Promise<HttpReply> {
  const kind = 'mcp initialize';
  const headers = buildMcpHeaders(key.key);
  const reply = await sendHttp(step.state, { kind, method: 'POST', path: '/mcp', address, headers, body: INITIALIZE });
  recordRequest(step.state, kind, reply, readTransportErrorCode(reply));
  verifyTransport(step, kind, reply, key);
  return reply;
}

/** Calls a tool. */
export async function callTool(
  step: Step,
  { name, args, id, idempotencyKey, expectedErrors, token, heldBack }: ToolCall,
): Promise<ToolResult> {
  const { state, customer, random } = step;
  const key = token ?? pickKey(step);
  const session = token === undefined ? (customer.session?.id ?? '') : undefined;
  const meta = {
    ...(token === undefined ? {} : STATELESS_META),
    ...(idempotencyKey === null ? {} : { idempotencyKey }),
  };
  const body = buildToolCall(name, args, id, meta);
  const kind =
    token === undefined ? `mcp ${name}` : name.startsWith('generate_') ? APPLICATION_CALL : `mcp ${name} by a token`;
  const headers = {
    ...buildMcpHeaders(key.key, session),
    ...(token === undefined ? {} : buildStatelessCallHeaders(name)),
  };
  const address = token?.address ?? random.pick(state.addresses);
  const reply = await sendHttp(state, { kind, method: 'POST', path: '/mcp', address, headers, body, heldBack });
  const message = reply.status === 200 ? findMessage(reply, id) : undefined;
  const observed: HttpReply = reply.status === 200 && message === undefined ? { ...reply, status: 'cut' } : reply;
  const response = interpretToolResult(observed, message);
  recordRequest(state, kind, observed, response.code ?? readTransportErrorCode(observed));
  verifyTransport(step, kind, observed, key);
  if (message !== undefined) verifyToolResult(step, kind, response, message, expectedErrors);
  // Another client of this customer may have opened a new one in the meantime.
  if (response.isSessionGone && customer.session?.id === session) customer.session = null;
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
  const isUnknown = !isGood && (isLost || code === 'internal_error');
  return { ...reply, code, structured, isGood, isUnknown, isSessionGone: status === 404 };
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
  const { status, text, beganAt, headers } = reply;
  verifySuspension(step, kind, reply);
  if (typeof status !== 'number') return;
  if (status === 500) return reportInternalError(step.state, step.customer.uuid, kind, reply);
  if (status === 401 && key.revokeRequestedAt === null && !mayHaveExpired(step.state, key)) {
    reportViolation(step, 'valid-key-is-accepted', key.uuid, `${kind}: ${text.slice(0, 200)}`);
  }
  if (status === 200 && key.revokedAt !== null && beganAt > key.revokedAt) {
    const late = Math.round(beganAt - key.revokedAt);
    reportViolation(step, 'revoked-key-is-rejected', key.uuid, `${kind} succeeded ${late} ms after the revocation`);
  }
  const observed = `${status} ${text.slice(0, 300)}`;
  if (status === 503 && headers['retry-after'] === undefined)
    reportViolation(step, 'errors-use-the-envelope', kind, observed);
  if ([200, 202, 401, 404, 503].includes(status)) return;
  if (status === 403 && mayBeSuspended(step.customer.suspensions, reply)) return;
  reportViolation(step, 'expected-responses-only', kind, observed);
}

function verifyToolResult(
  step: Step,
  kind: string,
  response: ToolResult,
  message: Json,
  expectedErrors: readonly ErrorCode[],
): void {
  const { code, structured } = response;
  const observed = JSON.stringify(message).slice(0, 400);
  if (response.isGood) return;
  if (message.error !== undefined) return reportViolation(step, 'expected-responses-only', kind, observed);
  if (code === null || !(code in ERROR_STATUS) || typeof structured.detail !== 'string') {
    return reportViolation(step, 'errors-use-the-envelope', kind, observed);
  }
  // Tool results have no status: only the text distinguishes an outage from a fault.
  if (code === 'internal_error') {
    if (structured.detail.startsWith('Something failed'))
      reportInternalError(step.state, step.customer.uuid, kind, response);
  } else if (code === 'account_suspended' && mayBeSuspended(step.customer.suspensions, response)) {
    // The suspension was committed after the request was authenticated.
  } else if (code !== 'invalid_api_key' && !expectedErrors.includes(code))
    reportViolation(step, 'expected-responses-only', kind, observed);
}
