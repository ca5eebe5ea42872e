import { ERROR_STATUS, type ErrorCode } from '../../../shared/spec/errors.ts';
import type { ObservedKey } from './clientStore.ts';
import { getActiveKeys } from './customers.ts';
import {
  reportInternalError,
  recordRequest,
  type Json,
  type HttpMessage,
  parseJson,
  type HttpReply,
  sendHttp,
} from './httpClient.ts';
import { findShapeProblem, type ResponseShape } from './responseShapes.ts';
import { reportViolation, type Step } from './clientState.ts';
import { isSuspendedThroughout, mayBeSuspended } from './suspensions.ts';

/** A request to the REST API. */
export interface RestRequest {
  kind: string;
  method: HttpMessage['method'];
  path: string;
  body?: object;
  headers?: Record<string, string>;
  /** True if the route needs no credential. */
  isPublic?: boolean;
  /** Any address by default. */
  address?: string;
  /** Error codes that are allowed besides those of an outage. */
  expectedErrors?: readonly ErrorCode[];
  /** The expected status. */
  status: number;
  /** The expected status while the outcome is not known to the service. */
  pendingStatus?: number;
  shape: ResponseShape;
}

/** A response as a client interprets it. */
export interface RestResponse extends HttpReply {
  /** Error code; null for a success or without a response. */
  code: ErrorCode | null;
  body: Json;
  isGood: boolean;
  /** True if the request may or may not have taken effect. */
  isUnknown: boolean;
}

/** Sends a request with an API key: one that should be valid, unless it is given. */
export async function sendWithKey(step: Step, request: RestRequest, key = pickKey(step)): Promise<RestResponse> {
  const credential: Record<string, string> = step.random.chance(0.2)
    ? { 'x-api-key': key.key }
    : { authorization: `Bearer ${key.key}` };
  const response = await sendRest(step, { ...request, headers: { ...credential, ...request.headers } });
  verifyKeyUse(step, key, response, request.kind);
  if (!request.isPublic) verifySuspension(step, request.kind, response);
  return response;
}

/** Sends a request with the given headers. */
export async function sendRest(step: Step, request: RestRequest): Promise<RestResponse> {
  const { state, random } = step;
  const { kind, method, path, body, headers = {}, address = random.pick(state.addresses) } = request;
  const reply = await sendHttp(state, { kind, method, path, address, headers, body });
  const response = interpretResponse(reply, request);
  recordRequest(state, kind, reply, response.code);
  verifyResponse(step, request, response);
  return response;
}

/** A ready account always has a valid key: its last one is never revoked. */
export function pickKey({ customer, random }: Step): ObservedKey {
  return random.pick(getActiveKeys(customer));
}

function interpretResponse(reply: HttpReply, { status: good, pendingStatus }: RestRequest): RestResponse {
  const { status } = reply;
  const body = parseJson(reply.text);
  const isError = typeof status === 'number' && status >= 400;
  const code = isError && typeof body?.error === 'string' ? (body.error as ErrorCode) : null;
  const isUnknown = typeof status !== 'number' || (status >= 500 && code !== 'model_unavailable');
  return { ...reply, body, code, isGood: status === good || status === pendingStatus, isUnknown };
}

function verifyResponse(
  step: Step,
  { kind, method, path, shape, expectedErrors = [] }: RestRequest,
  response: RestResponse,
): void {
  const { status, code, body, text } = response;
  if (typeof status !== 'number') return;
  const subject = `${method} ${path}`;
  const observed = `${status} ${text.slice(0, 300)}`;
  if (status === 500) return reportInternalError(step.state, step.customer.uuid, kind, response);
  if (response.isGood) {
    const problem = findShapeProblem(shape, body);
    if (problem !== null) reportViolation(step, 'responses-match-their-schema', subject, `${problem}: ${observed}`);
    return;
  }
  const envelope = findEnvelopeProblem(response);
  if (envelope !== null) return reportViolation(step, 'errors-use-the-envelope', subject, `${envelope}: ${observed}`);
  // Keys are checked separately, and sessions expire.
  if (code === 'invalid_api_key' || status === 503) return;
  if (code === 'account_suspended' && mayBeSuspended(step.customer.suspensions, response)) return;
  if (code === null || !expectedErrors.includes(code))
    reportViolation(step, 'expected-responses-only', subject, observed);
}

function findEnvelopeProblem({ status, code, body, headers }: RestResponse): string | null {
  if (code === null || !(code in ERROR_STATUS)) return 'the code is not documented';
  if (typeof body.detail !== 'string' || body.detail === '') return 'no detail';
  if (status === 503 && headers['retry-after'] === undefined) return 'no Retry-After';
  if (status === 503 && code === 'internal_error') return null;
  return status === ERROR_STATUS[code] ? null : 'the status does not match the code';
}

/** Reports a response other than a rejection to a request with a key of a suspended account. */
export function verifySuspension(step: Step, kind: string, reply: HttpReply): void {
  const { status, beganAt, text } = reply;
  if (typeof status !== 'number' || [401, 403, 429].includes(status) || status >= 500) return;
  if (!isSuspendedThroughout(step.customer.suspensions, reply)) return;
  reportViolation(
    step,
    'suspended-account-is-rejected',
    `${step.customer.email} at ${Math.round(beganAt)}`,
    `${kind} returned ${status}: ${text.slice(0, 200)}`,
  );
}

function verifyKeyUse(step: Step, key: ObservedKey, { status, beganAt, text }: RestResponse, kind: string): void {
  if (status === 401 && key.revokeRequestedAt === null) {
    reportViolation(step, 'valid-key-is-accepted', key.uuid, `${kind}: ${text.slice(0, 200)}`);
  }
  const isRefused = typeof status !== 'number' || status === 401 || status === 429 || status >= 500;
  if (!isRefused && key.revokedAt !== null && beganAt > key.revokedAt) {
    const late = Math.round(beganAt - key.revokedAt);
    reportViolation(
      step,
      'revoked-key-is-rejected',
      key.uuid,
      `${kind} returned ${status}, ${late} ms after the revocation`,
    );
  }
}
