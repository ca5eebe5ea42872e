import { type AccessToken, mayHaveExpiredRefresh } from '../accessTokens.ts';
import { newStepId, reportViolation, type Step } from '../clientState.ts';
import type { Application } from '../customers.ts';
import { callTool } from '../mcpRequests.ts';
import { type IssuedTokens, refreshOnce } from '../oauthRequests.ts';
import { retryUntilKnown } from '../retry.ts';
import { mayBeSuspended } from '../suspensions.ts';

/** Number of refreshes with one token at the same moment. */
const PARALLEL_REFRESHES = 4;
/** Requests with one refresh token within this time get tokens, less a margin for slow requests. */
const GRACE_MS = 40_000;
const REUSE_SHARE = 0.4;

/** Tokens whose grant has not ended and that can be refreshed. */
export function listRefreshable({ state }: Step, { tokens }: Application): AccessToken[] {
  return tokens.filter(
    (token) => token.revokeRequestedAt === null && token.refreshToken !== null && !mayHaveExpiredRefresh(state, token),
  );
}

/**
 * Refreshes with one token several times at the same moment and after lost responses: each time there are tokens. Once one
 * of these was refreshed, the first one is used again now and then: it must be rejected, with all tokens of its grant. A
 * refresh of unknown outcome may be carried out after that too, so that the grant may have ended from then on.
 */
export async function refreshTokens(step: Step, application: Application, token: AccessToken): Promise<void> {
  const { random, state } = step;
  const first = token.refreshToken as string;
  token.refreshToken = null;
  let mayBeRepeated = false;
  const refresh = async (text: string, address = random.pick(state.addresses)) => {
    const { result, hasUnknownAttempt } = await refreshUntilKnown(step, application, address, text);
    mayBeRepeated ||= hasUnknownAttempt;
    return result;
  };
  const watch = watchCircumstances(step);
  const results = await Promise.all(
    Array.from({ length: PARALLEL_REFRESHES }, (_, index) =>
      refresh(first, state.addresses[index % state.addresses.length]),
    ),
  );
  const issued = results.filter((result) => typeof result === 'object');
  const isRejected = results.includes('rejected');
  if (isRejected && watch.isClear())
    reportRejection(step, token, `${issued.length} of ${PARALLEL_REFRESHES} refreshes had tokens`);
  if (isRejected) token.revokeRequestedAt ??= performance.now();
  if (new Set(issued.map(({ refreshToken }) => refreshToken)).size < issued.length)
    reportViolation(step, 'refresh-returns-tokens', token.uuid, 'two refreshes returned the same token');
  const [used, ...others] = issued;
  if (used === undefined || isRejected) return;
  const next = await refresh(used.refreshToken);
  if (next === 'rejected' && !mayBeRepeated && watch.isClear())
    reportRejection(step, token, 'a successor was rejected');
  if (next === 'rejected' || mayBeRepeated) token.revokeRequestedAt ??= performance.now();
  if (typeof next !== 'object') return;
  token.refreshToken = next.refreshToken;
  await useAccessToken(step, token);
  if (!random.chance(REUSE_SHARE)) return;
  token.revokeRequestedAt ??= performance.now();
  const again = await refresh(first);
  if (typeof again === 'object')
    reportViolation(
      step,
      'used-refresh-token-is-rejected',
      token.uuid,
      'it returned tokens after a successor was used',
    );
  if (again !== 'rejected' || !watch.isClear()) return;
  token.revokedAt ??= performance.now();
  await tryEndedGrant(
    step,
    application,
    token,
    [next, ...others].map(({ refreshToken }) => refreshToken),
  );
}

function reportRejection(step: Step, token: AccessToken, detail: string): void {
  reportViolation(step, 'refresh-returns-tokens', token.uuid, detail);
}

/** Watches whether something else than the tokens explains a rejection: a suspension, a clock, or too much time. */
function watchCircumstances({ customer, state }: Step): { isClear: () => boolean } {
  const beganAt = performance.now();
  return {
    isClear: () => {
      const endedAt = performance.now();
      const isInTime = endedAt - beganAt < GRACE_MS && state.haveClocksAgreedSince(beganAt);
      return isInTime && !mayBeSuspended(customer.suspensions, { beganAt, endedAt });
    },
  };
}

async function refreshUntilKnown(
  step: Step,
  { clientId }: Application,
  address: string,
  text: string,
): Promise<{ result: IssuedTokens | 'rejected' | 'unknown'; hasUnknownAttempt: boolean }> {
  let hasUnknownAttempt = false;
  const { result } = await retryUntilKnown(step, async () => {
    const outcome = await refreshOnce(step, clientId, address, text);
    hasUnknownAttempt ||= outcome === 'unknown';
    return { result: outcome, isUnknown: outcome === 'unknown' };
  });
  return { result, hasUnknownAttempt };
}

/** Uses an access token for a tool that reads. `callTool` checks the response. */
async function useAccessToken(step: Step, token: AccessToken): Promise<void> {
  await callTool(step, {
    name: 'get_usage',
    args: {},
    id: 1,
    idempotencyKey: newStepId(step),
    expectedErrors: [],
    token,
  });
}

/** Uses all tokens of a grant that has ended: the access token at its process, and refresh tokens at every process. */
export async function tryEndedGrant(
  step: Step,
  { clientId }: Application,
  token: AccessToken,
  refreshTexts = token.refreshToken === null ? [] : [token.refreshToken],
): Promise<void> {
  const refreshed = refreshTexts.flatMap((text) =>
    step.state.addresses.map(async (address) => {
      if (typeof (await refreshOnce(step, clientId, address, text)) !== 'object') return;
      reportViolation(step, 'revoked-key-is-rejected', token.uuid, `a refresh at ${address} returned tokens`);
    }),
  );
  await Promise.all([useAccessToken(step, token), ...refreshed]);
}
