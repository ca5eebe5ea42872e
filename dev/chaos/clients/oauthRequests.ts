import { createHash } from 'node:crypto';
import type { CreditLimit } from '../../../shared/presenters/spendingLimit.ts';
import { DAY_MS } from '../../../shared/spec/durations.ts';
import { REFRESH_TOKEN_DAYS } from '../../../shared/spec/limits.ts';
import { newStepId, report, type Step } from './clientState.ts';
import type { AccessToken } from './customers.ts';
import { encodeForm, encodeJson, type HttpReply, parseJson, recordRequest, sendHttp } from './httpClient.ts';
import { submitPageForm } from './pageRequests.ts';

/** Chooses a spending limit, from the credits that are used of the present one. Null: no limit. */
export type LimitChoice = (used: number) => CreditLimit | null;

/** Not a loopback address: reuse of a refresh token ends the grant. Nothing is fetched from it. */
const REDIRECT_URI = 'https://client.example/callback';

/** Registers an application. @returns the id of the client; null if the response was lost or there was none. */
export async function registerApplication(step: Step, name: string): Promise<string | null> {
  const address = step.random.pick(step.state.addresses);
  const body = encodeJson({ client_name: name, redirect_uris: [REDIRECT_URI] });
  const reply = await sendOAuth(step, 'register', address, body, [201]);
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
  const { state, customer } = step;
  const verifier = createHash('sha256').update(newStepId(step)).digest('base64url');
  const code = await approve(step, clientId, address, verifier, chooseLimit);
  if (code === null) return null;
  const grant = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: REDIRECT_URI };
  const requestedAt = state.now();
  // A month may have passed, or the account was suspended, since the approval.
  const form = encodeForm({ ...grant, client_id: clientId });
  const issued = readTokens(step, await sendOAuth(step, 'token', address, form, [200, 400]));
  if (typeof issued === 'string') return null;
  return {
    uuid: `token of ${clientId} for ${newStepId(step)}`,
    key: issued.accessToken,
    accountUuid: customer.uuid as string,
    revokeRequestedAt: null,
    revokedAt: null,
    address,
    expiresAt: new Date(requestedAt.getTime() + 1_000 * issued.seconds),
    refreshToken: issued.refreshToken,
    refreshExpiresAt: new Date(requestedAt.getTime() + REFRESH_TOKEN_DAYS * DAY_MS),
  };
}

/** Tokens of a response, with the time until the access token expires; or the reason why there are none. */
export type IssuedTokens = { accessToken: string; refreshToken: string; seconds: number } | 'rejected' | 'unknown';

function readTokens(step: Step, { status, text }: HttpReply): IssuedTokens {
  if (status !== 200) return status === 400 ? 'rejected' : 'unknown';
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds, scope } = parseJson(text);
  if (typeof accessToken === 'string' && typeof refreshToken === 'string' && scope === 'svc:read svc:write')
    return { accessToken, refreshToken, seconds };
  report(step, 'responses-match-their-schema', 'POST /token', text.slice(0, 300));
  return 'unknown';
}

/** Exchanges a refresh token once. */
export async function refreshOnce(step: Step, clientId: string, address: string, token: string): Promise<IssuedTokens> {
  const form = encodeForm({ grant_type: 'refresh_token', refresh_token: token, client_id: clientId });
  return readTokens(step, await sendOAuth(step, 'token', address, form, [200, 400]));
}

/** Submits the consent page. @returns the code; null if there is none. */
async function approve(
  step: Step,
  clientId: string,
  address: string,
  verifier: string,
  chooseLimit: LimitChoice,
): Promise<string | null> {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const page = await submitPageForm(step, 'page consent', address, `/authorize?${query}`, (text) => ({
    decision: 'allow',
    ...buildLimitFields(text, chooseLimit),
  }));
  if (page?.status !== 200) return null;
  // The page returns the browser to the application.
  const target = /<meta http-equiv="refresh" content="0;url=([^"]+)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&');
  const code = target === undefined ? null : new URL(target).searchParams.get('code');
  if (code === null) report(step, 'responses-match-their-schema', 'POST /authorize', page.text.slice(0, 300));
  return code;
}

/** Builds the fields of a spending limit for a page that shows how much of the present one is used. */
export function buildLimitFields(page: string, chooseLimit: LimitChoice): Record<string, string> {
  const used = /([\d,]+) of [\d,]+ credits? a \w+ (?:is|are) used/.exec(page)?.[1] ?? '0';
  const limit = chooseLimit(Number(used.replaceAll(',', '')));
  return { limit_credits: limit === null ? '' : String(limit.credits), limit_period: limit?.period ?? 'day' };
}

/** Lets an application end one of its tokens. @returns true if the response confirms it. */
export async function revokeToken(step: Step, clientId: string, { address, key }: AccessToken): Promise<boolean> {
  const reply = await sendOAuth(step, 'revoke', address, encodeForm({ token: key, client_id: clientId }), [200]);
  return reply.status === 200;
}

/** Sends a request of an application to the authorization server. */
async function sendOAuth(
  step: Step,
  endpoint: 'register' | 'token' | 'revoke',
  address: string,
  encoded: ReturnType<typeof encodeForm>,
  expected: number[],
): Promise<HttpReply> {
  const kind = `oauth ${endpoint}`;
  const reply = await sendHttp(step, { ...encoded, method: 'POST', path: `/${endpoint}`, address });
  const { status, text } = reply;
  const isError = typeof status === 'number' && status >= 400;
  recordRequest(step, kind, reply, isError ? (parseJson(text)?.error ?? null) : null);
  if (typeof status === 'number' && status !== 500 && status !== 503 && !expected.includes(status))
    report(step, 'expected-responses-only', kind, `${status}: ${text.slice(0, 300)}`);
  return reply;
}
