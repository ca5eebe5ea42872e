import { Genmeter, GenmeterError, type GenmeterOptions } from '../../../packages/client/src/index.ts';
import { Transport } from '../../../packages/client/src/transport.ts';
import { ERROR_STATUS, type ErrorCode } from '../../../shared/spec/errors.ts';
import { StoppedError, report, retryUntilKnown, type Step } from './clientState.ts';
import { getActiveKeys, isSuspendedThroughout, mayBeSuspended } from './customers.ts';
import { type HttpReply, type Json, recordRequest, sendHttp } from './httpClient.ts';
import type { ObservedKey } from './journal.ts';
import { findResponseProblem } from './responseSchemas.ts';

/** The client library, and requests that it has no method for. */
export class Api extends Genmeter {
  readonly #transport: Transport;

  constructor(options: GenmeterOptions) {
    super(options);
    this.#transport = new Transport(options);
  }

  /** @param route method and path, such as `POST /api/billing/checkout/`. */
  send(route: string, body?: object, idempotencyKey?: string): Promise<Json> {
    const [method, path] = route.split(' ') as ['POST', string];
    const repetition = idempotencyKey === undefined ? 'once' : 'keyed';
    return this.#transport.request({ method, path, body, repetition }, { idempotencyKey });
  }
}

export interface CallOptions {
  /** Default: one of the customer's keys. Null: no key, but the headers. */
  key?: ObservedKey | null;
  headers?: Record<string, string>;
  /** Any address by default. */
  address?: string | undefined;
  /** Error codes that are allowed besides those of an outage. */
  expects?: readonly ErrorCode[];
  /** True if the route needs no credential. */
  isPublic?: boolean;
}

/** A response as a client interprets it. */
export type Called<Result> = HttpReply & {
  /** Error code; null for a success or without a response. */
  code: ErrorCode | null;
  /** True if the request may or may not have taken effect. */
  isUnknown: boolean;
} & ({ isGood: true; body: Result } | { isGood: false; body?: undefined });

type Send<Result> = (api: Api) => Promise<Result>;

/** Calls the API once, and checks the response. @param kind kind of request in the statistics. */
export async function call<Result>(
  step: Step,
  kind: string,
  send: Send<Result>,
  options: CallOptions = {},
): Promise<Called<Result>> {
  const { state, random } = step;
  const { key = pickKey(step), address = random.pick(state.addresses), headers } = options;
  let sent: { method: string; path: string; reply: HttpReply } | undefined;
  const api = new Api({
    baseUrl: address,
    key: key?.key,
    maxRetries: 0,
    fetch: async (url, { method = 'GET', headers: own, body } = {}) => {
      const { origin, pathname, search } = new URL(url as string);
      const { authorization, ...others } = own as Record<string, string>;
      const credential: Record<string, string> =
        authorization === undefined ? {} : random.chance(0.2) ? { 'x-api-key': key?.key as string } : { authorization };
      const message = {
        method,
        path: pathname + search,
        address: origin,
        headers: { ...others, ...credential, ...headers },
      };
      const reply = await sendHttp(step, { ...message, body: body as string | null });
      sent = { method, path: pathname, reply };
      if (typeof reply.status !== 'number') throw new Error(reply.status);
      return new Response(reply.text === '' ? null : reply.text, { status: reply.status });
    },
  });
  let outcome: { isGood: true; body: Result } | { isGood: false };
  let code: ErrorCode | null = null;
  try {
    outcome = { isGood: true, body: await send(api) };
  } catch (error) {
    if (!(error instanceof GenmeterError)) throw error;
    if (sent === undefined) throw new StoppedError();
    outcome = { isGood: false };
    if (error.error in ERROR_STATUS) code = error.error as ErrorCode;
  }
  const { method, path, reply } = sent as NonNullable<typeof sent>;
  const { status } = reply;
  const isUnknown = typeof status !== 'number' || (status >= 500 && code !== 'model_unavailable');
  const called: Called<Result> = { ...reply, code, isUnknown, ...outcome };
  recordRequest(step, kind, reply, code);
  verifyResponse(step, `${method} ${path}`, called, options.expects ?? []);
  if (key !== null) verifyKeyUse(step, key, kind, called);
  if (key !== null && options.isPublic !== true) verifySuspension(step, kind, called);
  return called;
}

/** Repeats a call until its outcome is known. Only for idempotent requests. */
export function callUntilKnown<Result>(
  step: Step,
  kind: string,
  send: Send<Result>,
  options?: CallOptions,
): Promise<Called<Result>> {
  return retryUntilKnown(step, () => call(step, kind, send, options));
}

/** A ready account always has a valid key: its last one is never revoked. */
export function pickKey({ customer, random }: Step): ObservedKey {
  return random.pick(getActiveKeys(customer));
}

function verifyResponse(step: Step, route: string, called: Called<unknown>, expects: readonly ErrorCode[]): void {
  const { status, code, text } = called;
  if (typeof status !== 'number' || status === 500) return;
  const observed = `${status} ${text.slice(0, 300)}`;
  const [method, path] = route.split(' ') as [string, string];
  if (called.isGood) {
    const problem = findResponseProblem(method, path, status, called.body);
    if (problem !== null) report(step, 'responses-match-their-schema', route, `${problem}: ${observed}`);
    return;
  }
  const envelope = findEnvelopeProblem(called);
  if (envelope !== null) return report(step, 'errors-use-the-envelope', route, `${envelope}: ${observed}`);
  // Keys are checked separately, and sessions expire.
  if (code === 'invalid_api_key' || status === 503) return;
  if (code === 'account_suspended' && mayBeSuspended(step.customer, called)) return;
  if (code === null || !expects.includes(code)) report(step, 'expected-responses-only', route, observed);
}

function findEnvelopeProblem({ status, code, headers }: Called<unknown>): string | null {
  if (code === null) return 'there is no documented code, or no detail';
  if (status === 503 && headers['retry-after'] === undefined) return 'no Retry-After';
  if (status === 503 && code === 'internal_error') return null;
  return status === ERROR_STATUS[code] ? null : 'the status does not match the code';
}

/** Reports a response other than a rejection to a request with a key of a suspended account. */
export function verifySuspension(step: Step, kind: string, reply: HttpReply): void {
  const { status, beganAt, text } = reply;
  if (typeof status !== 'number' || [401, 403, 429].includes(status) || status >= 500) return;
  if (!isSuspendedThroughout(step.customer, reply)) return;
  const subject = `${step.customer.email} at ${Math.round(beganAt)}`;
  report(step, 'suspended-account-is-rejected', subject, `${kind} returned ${status}: ${text.slice(0, 200)}`);
}

/** Reports a rejection of a key that no client revoked, and a request that was not rejected after a revocation. */
export function verifyKeyUse(step: Step, key: ObservedKey, kind: string, { status, beganAt, text }: HttpReply): void {
  if (status === 401 && key.revokeRequestedAt === null)
    report(step, 'valid-key-is-accepted', key.uuid, `${kind}: ${text.slice(0, 200)}`);
  const isRefused = typeof status !== 'number' || status === 401 || status === 429 || status >= 500;
  if (isRefused || key.revokedAt === null || beganAt <= key.revokedAt) return;
  const late = Math.round(beganAt - key.revokedAt);
  report(step, 'revoked-key-is-rejected', key.uuid, `${kind} returned ${status}, ${late} ms after the revocation`);
}
