import { createHash } from 'node:crypto';
import type { CreditLimit } from '../../../shared/presenters/spendingLimit.ts';
import { DAY_MS } from '../../../shared/spec/durations.ts';
import { REFRESH_TOKEN_DAYS } from '../../../shared/spec/limits.ts';
import type { AccessToken } from './accessTokens.ts';
import { recordRequest, parseJson, reportInternalError, sendHttp, type HttpReply } from './httpClient.ts';
import { discoverOrigin, signInCustomer } from './onboardCustomer.ts';
import { findCsrfToken, sendPageRequest } from './pageRequests.ts';
import { newStepId, reportViolation, type Step } from './clientState.ts';

/** Chooses a spending limit, from the credits that are used of the present one. Null: no limit. */
export type LimitChoice = (used: number) => CreditLimit | null;

/** Not a loopback address: reuse of a refresh token ends the grant. Nothing is fetched from it. */
const REDIRECT_URI = 'https://client.example/callback';

/** Registers an application. @returns the id of the client; null if the response was lost or there was none. */
export async function registerApplication(step: Step, name: string): Promise<string | null> {
  const address = step.random.pick(step.state.addresses);
  const body = { client_name: name, redirect_uris: [REDIRECT_URI] };
  const reply = await sendOAuth(step, 'register', { address, body }, [201]);
  return reply.status === 201 ? (parseJson(reply.text).client_id as string) : null;
}

/**
 * Connects an application as its owner does: approves it on the consent page with a limit, and lets the application
 * exchange the code. The exchange is never repeated: a code that is used twice revokes its grant.
 * @returns null if a request failed.
 */
export async function connectApplication(
  step: Step,
  clientId: string,
  address: string,
  chooseLimit: LimitChoice,
): Promise<AccessToken | null> {
  const verifier = createHash('sha256').update(newStepId(step)).digest('base64url');
  const code = await approve(step, { clientId, address, verifier, chooseLimit });
  if (code === null) return null;
  const form = {
    grant_type: 'authorization_code',
    code,
    code_verifier: verifier,
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
  };
  const requestedAt = step.state.now();
  // A month may have passed, or the account was suspended, since the approval.
  const reply = await sendOAuth(step, 'token', { address, form }, [200, 400]);
  if (reply.status !== 200) return null;
  const issued = readTokens(step, reply);
  if (issued === null) return null;
  const { accessToken: text, refreshToken, seconds } = issued;
  return {
    uuid: `token of ${clientId} for ${newStepId(step)}`,
    key: text,
    accountUuid: step.customer.uuid as string,
    revokeRequestedAt: null,
    revokedAt: null,
    address,
    expiresAt: new Date(requestedAt.getTime() + 1_000 * seconds),
    refreshToken,
    refreshExpiresAt: new Date(requestedAt.getTime() + REFRESH_TOKEN_DAYS * DAY_MS),
  };
}

/** Tokens of a response. */
export interface IssuedTokens {
  accessToken: string;
  refreshToken: string;
  /** Until the access token expires. */
  seconds: number;
}

function readTokens(step: Step, { text }: HttpReply): IssuedTokens | null {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds, scope } = parseJson(text);
  if (typeof accessToken === 'string' && typeof refreshToken === 'string' && scope === 'svc:read svc:write')
    return { accessToken, refreshToken, seconds };
  reportViolation(step, 'responses-match-their-schema', 'POST /token', text.slice(0, 300));
  return null;
}

/** Exchanges a refresh token once. @returns the tokens, or the reason why there are none. */
export async function refreshOnce(
  step: Step,
  clientId: string,
  address: string,
  refreshToken: string,
): Promise<IssuedTokens | 'rejected' | 'unknown'> {
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: clientId };
  const reply = await sendOAuth(step, 'token', { address, form }, [200, 400]);
  if (reply.status === 200) return readTokens(step, reply) ?? 'unknown';
  return reply.status === 400 ? 'rejected' : 'unknown';
}

interface Approval {
  clientId: string;
  address: string;
  verifier: string;
  chooseLimit: LimitChoice;
}

/** Submits the consent page. @returns the code; null if there is none. */
async function approve(step: Step, { clientId, address, verifier, chooseLimit }: Approval): Promise<string | null> {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const fields = (page: string) => ({ decision: 'allow', ...buildLimitFields(page, chooseLimit) });
  const page = await submitPageForm(step, { kind: 'page consent', address, path: `/authorize?${query}`, fields });
  if (page?.status !== 200) return null;
  // The page returns the browser to the application.
  const target = /<meta http-equiv="refresh" content="0;url=([^"]+)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&');
  const code = target === undefined ? null : new URL(target).searchParams.get('code');
  if (code === null) reportViolation(step, 'responses-match-their-schema', 'POST /authorize', page.text.slice(0, 300));
  return code;
}

/** Builds the fields of a spending limit for a page that shows how much of the present one is used. */
export function buildLimitFields(page: string, chooseLimit: LimitChoice): Record<string, string> {
  const used = /([\d,]+) of [\d,]+ credits? a \w+ (?:is|are) used/.exec(page)?.[1] ?? '0';
  const limit = chooseLimit(Number(used.replaceAll(',', '')));
  return { limit_credits: limit === null ? '' : String(limit.credits), limit_period: limit?.period ?? 'day' };
}

interface PageForm {
  kind: string;
  address: string;
  path: string;
  /** Builds the fields from the page that contains the form. */
  fields: (page: string) => Record<string, string>;
}

/**
 * Opens a page and submits its form, which has the same address.
 * @returns undefined if the form could not be opened, so that nothing was submitted.
 */
export async function submitPageForm(
  step: Step,
  { kind, address, path, fields }: PageForm,
): Promise<HttpReply | undefined> {
  const origin = await discoverOrigin(step, address);
  const page = await sendPageRequest(step, { kind, method: 'GET', path, address });
  // The session has ended, as it does when a month passes.
  if (page.status === 302 || page.status === 303) await signInCustomer(step);
  const token = findCsrfToken(page.text);
  if (page.status !== 200 || token === undefined || origin === null) return undefined;
  const form = { csrf_token: token, ...fields(page.text) };
  const reply = await sendPageRequest(step, { kind, method: 'POST', path, address, origin, form });
  // Too much time has passed since the sign-in.
  if (reply.headers.location?.includes('again=yes') === true) await signInCustomer(step);
  return reply;
}

/** Lets an application end one of its tokens. @returns true if the response confirms it. */
export async function revokeToken(step: Step, clientId: string, { address, key }: AccessToken): Promise<boolean> {
  const form = { token: key, client_id: clientId };
  const reply = await sendOAuth(step, 'revoke', { address, form }, [200]);
  return reply.status === 200;
}

/** Sends a request of an application to the authorization server. */
async function sendOAuth(
  step: Step,
  endpoint: 'register' | 'token' | 'revoke',
  message: { address: string; body?: object; form?: Record<string, string> },
  expected: number[],
): Promise<HttpReply> {
  const { state, customer } = step;
  const kind = `oauth ${endpoint}`;
  const reply = await sendHttp(state, { ...message, kind, method: 'POST', path: `/${endpoint}`, headers: {} });
  const { status, text } = reply;
  recordRequest(
    state,
    kind,
    reply,
    typeof status === 'number' && status >= 400 ? (parseJson(text)?.error ?? null) : null,
  );
  if (status === 500) reportInternalError(state, customer.uuid, kind, reply);
  else if (typeof status === 'number' && status !== 503 && !expected.includes(status))
    reportViolation(step, 'expected-responses-only', kind, `${status}: ${text.slice(0, 300)}`);
  return reply;
}
