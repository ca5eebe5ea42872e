import {
  everywhere,
  inParallel,
  newStepId,
  report,
  retryUntilKnown,
  sleepUnlessStopped,
  type Step,
} from '../clientState.ts';
import { newCreateRequest } from '../createRequests.ts';
import { type AccessToken, type Application, mayBeSuspended } from '../customers.ts';
import { callTool, createByTool, isSoonOver, mayHaveExpired } from '../mcpRequests.ts';
import {
  buildLimitFields,
  connectApplication,
  type IssuedTokens,
  type LimitChoice,
  refreshOnce,
  registerApplication,
  revokeToken,
} from '../oauthRequests.ts';
import { isSignedOut, sendPageRequest, submitPageForm } from '../pageRequests.ts';
import { signInCustomer } from '../sessions.ts';
import { isMonthSettled, pickMargin, refundEarlier, refundsEarlier } from './limitedKeys.ts';

const APPLICATIONS_PATH = '/account/applications/';
/** Number of simultaneous creates of one application. */
const BURST_SIZE = 16;
const MAX_PAGE_ATTEMPTS = 8;
/** Number of creates that arrive while their tokens end. */
const RACING_CREATES = 12;
/** Maximum time for which a create is held back. The service waits 30 s for a body. */
const HELD_BACK_MAX_MS = 12_000;
/** Number of refreshes with one token at the same moment. */
const PARALLEL_REFRESHES = 4;
/** Requests with one refresh token within this time get tokens, less a margin for slow requests. */
const GRACE_MS = 40_000;
const REUSE_SHARE = 0.4;

/**
 * Uses an application of the customer, which all clients share: connects it on the consent page, creates with it under
 * its limit, changes the limit, or disconnects it. Its limits have windows, which begin and change only while no month
 * passes.
 */
export async function useApplication(step: Step): Promise<void> {
  const { customer, random, state } = step;
  const { application } = customer;
  if (application === null) return registerFor(step);
  const refreshable = listRefreshable(step, application);
  if (refreshable.length > 0 && random.chance(0.25))
    return change(application, () => refreshTokens(step, application, random.pick(refreshable)));
  const unconnected = state.addresses.filter((address) => listTokens(step, application, address).length === 0);
  const isConnected = unconnected.length < state.addresses.length;
  if (application.isChanging) await createInBurst(step, application);
  else if (isConnected && random.chance(0.5)) {
    const end = random.pick([disconnect, revokeOne]);
    await change(application, () => end(step, application));
  } else if (!isMonthSettled(state)) return;
  else if (unconnected.length > 0) {
    await change(application, () => connect(step, application, unconnected));
    await createInBurst(step, application);
    if (random.chance(0.5)) await change(application, () => disconnect(step, application));
  } else if (refundsEarlier(step, application.created))
    await refundEarlier(step, application.created, () => createInBurst(step, application));
  else {
    await change(application, () => changeLimit(step, application));
    const changes = random.chance(0.2) ? [change(application, () => changeLimit(step, application))] : [];
    await Promise.all([createInBurst(step, application), ...changes]);
  }
}

/** Makes a change unless another client makes one. */
async function change(application: Application, work: () => Promise<void>): Promise<void> {
  if (application.isChanging) return;
  application.isChanging = true;
  await work();
  application.isChanging = false;
}

/** Tokens that should be valid at an address. */
function listTokens({ state }: Step, { tokens }: Application, address: string): AccessToken[] {
  return tokens.filter(
    (token) => token.address === address && token.revokeRequestedAt === null && !mayHaveExpired(state, token),
  );
}

async function registerFor(step: Step): Promise<void> {
  const name = `Assistant ${newStepId(step)}`;
  const clientId = await registerApplication(step, name);
  if (clientId === null) return;
  step.customer.application ??= { clientId, name, tokens: [], created: [], isChanging: false };
}

async function connect(step: Step, application: Application, addresses: string[]): Promise<void> {
  for (const address of addresses) {
    if (!isMonthSettled(step.state)) return;
    const token = await connectApplication(step, application.clientId, address, pickLimit(step));
    if (token !== null) application.tokens.push(token);
    // The client may have been deleted: registrations that were not approved within a day are.
    else if (application.tokens.length === 0) step.customer.application = null;
  }
}

/** Chooses credits of a few generations beyond those that are used; seldom fewer, or no limit. */
function pickLimit(step: Step): LimitChoice {
  const { random } = step;
  return (used) => {
    if (random.chance(0.05)) return null;
    const credits = random.chance(0.15) ? random.nextBetween(1, Math.max(1, used)) : used + pickMargin(step);
    return { credits, period: random.pick(['day', 'month'] as const) };
  };
}

/** Changes the limit on the page of the application. */
async function changeLimit(step: Step, application: Application, chooseLimit = pickLimit(step)): Promise<void> {
  if (!isMonthSettled(step.state)) return;
  const address = step.random.pick(step.state.addresses);
  const uuid = await findOnPage(step, application, address);
  if (uuid === undefined) return;
  const path = `${APPLICATIONS_PATH}${uuid}/limit/`;
  await submitPageForm(step, 'page limit', address, path, (page) => buildLimitFields(page, chooseLimit));
}

/** Finds the application in the list on the page. @returns the uuid in its links; undefined without a page. */
async function findOnPage(step: Step, { name }: Application, address: string): Promise<string | undefined> {
  const page = await sendPageRequest(step, { kind: 'page applications', path: APPLICATIONS_PATH, address });
  if (isSignedOut(page)) await signInCustomer(step);
  return new RegExp(`/account/applications/([0-9a-f-]{36})/end/" aria-label="Disconnect ${name}"`).exec(page.text)?.[1];
}

/**
 * Ends tokens while creates with each of them are incomplete, and completes these once that is acknowledged.
 * @param end sets `revokedAt` of the tokens.
 */
async function endDuringCreates(
  step: Step,
  application: Application,
  tokens: readonly AccessToken[],
  end: () => Promise<void>,
): Promise<void> {
  // Otherwise the limit would reject most of the creates.
  await changeLimit(step, application, () => null);
  // A charge while a month passes could be in the wrong window.
  if (!isMonthSettled(step.state)) return await end();
  const ended = new AbortController();
  const completed = holdBack(step, ended.signal).then(getTime, getTime);
  const heldBack = Promise.all(
    [...tokens, ...tokens].map(async (token) => {
      const { isGood } = await createWithToken(step, application, token, completed);
      if (!isGood || token.revokedAt === null || token.revokedAt > (await completed)) return;
      const detail = 'a create was accepted that was completed after the revocation';
      report(step, 'revoked-key-is-rejected', token.uuid, detail);
    }),
  );
  // Some have passed every check but that of the charge when the tokens end.
  const racing = inParallel(step, tokens.length === 0 ? 0 : RACING_CREATES, async () => {
    await sleepUnlessStopped(step.state, step.random.nextBetween(50, 150));
    await createWithToken(step, application, step.random.pick(tokens));
  });
  const creates = Promise.all([heldBack, racing]);
  // Handled below, after the end.
  creates.catch(() => {});
  try {
    // The service reads the heads of the creates, and checks their tokens.
    await sleepUnlessStopped(step.state, 50);
    await end();
  } finally {
    ended.abort();
    await creates;
  }
}

const getTime = (): number => performance.now();

/** Waits until tokens have ended or a month is about to pass, but less than the service waits for a body. */
async function holdBack({ state }: Step, ended: AbortSignal): Promise<void> {
  const endsAt = performance.now() + HELD_BACK_MAX_MS;
  while (!ended.aborted && isMonthSettled(state) && performance.now() < endsAt) await sleepUnlessStopped(state, 20);
}

/** Disconnects the application on its page, and tries all of its tokens as soon as that is acknowledged. */
async function disconnect(step: Step, application: Application): Promise<void> {
  const tokens = application.tokens.filter(({ revokedAt }) => revokedAt === null);
  await endDuringCreates(step, application, tokens, () => disconnectOnPage(step, application, tokens));
}

async function disconnectOnPage(step: Step, application: Application, tokens: readonly AccessToken[]): Promise<void> {
  const { state, customer, random } = step;
  for (const token of tokens) token.revokeRequestedAt ??= performance.now();
  // A form whose response was lost may still be carried out, and would end later tokens.
  let hasUnknownAttempt = false;
  for (let attempt = 0; attempt < MAX_PAGE_ATTEMPTS; attempt += 1) {
    const address = random.pick(state.addresses);
    const uuid = await findOnPage(step, application, address);
    if (uuid === undefined) continue;
    const reply = await submitPageForm(step, 'page disconnect', address, `${APPLICATIONS_PATH}${uuid}/end/`);
    if (reply?.status === 303 && String(reply.headers['location']).includes('done=disconnected')) {
      for (const token of tokens) token.revokedAt ??= performance.now();
      await tryRevoked(step, application, tokens);
      if (hasUnknownAttempt) customer.application = null;
      return;
    }
    hasUnknownAttempt ||= reply !== undefined;
  }
  customer.application = null;
}

/** Ends one token as the application does. The others continue. */
async function revokeOne(step: Step, application: Application): Promise<void> {
  const tokens = application.tokens.filter(({ revokeRequestedAt }) => revokeRequestedAt === null);
  if (tokens.length === 0) return;
  const token = step.random.pick(tokens);
  await endDuringCreates(step, application, [token], async () => {
    token.revokeRequestedAt = performance.now();
    const { isUnknown } = await retryUntilKnown(step, async () => ({
      isUnknown: !(await revokeToken(step, application.clientId, token)),
    }));
    // An expired access token ends nothing, which is a success, too.
    if (isUnknown || mayHaveExpired(step.state, token)) return;
    token.revokedAt = performance.now();
    await tryRevoked(step, application, [token]);
  });
}

/** Creates with tokens that must be rejected; the comparison with the database finds a generation of these creates. */
async function tryRevoked(step: Step, application: Application, tokens: readonly AccessToken[]): Promise<void> {
  await Promise.all(
    tokens.flatMap((token) => [createWithToken(step, application, token), tryEndedGrant(step, application, token)]),
  );
}

/** Sends many creates at the same moment to all processes. */
async function createInBurst(step: Step, application: Application): Promise<void> {
  await inParallel(step, BURST_SIZE, async (address, index) => {
    const [token] = listTokens(step, application, address);
    if (token === undefined) return;
    const request = newRequest(step, application);
    const send = async () =>
      // A charge while a month passes could be in the wrong window.
      isMonthSettled(step.state) ? createByTool(step, request, buildToolOptions(token)) : { isUnknown: false };
    await (index === 0 ? retryUntilKnown(step, send) : send());
    for (const uuid of request.observed.uuids) application.created.push({ uuid, at: step.state.now() });
  });
}

function newRequest(step: Step, { clientId }: Application) {
  const request = newCreateRequest(step, undefined, 'MCP');
  request.observed.clientId = clientId;
  return request;
}

function createWithToken(step: Step, application: Application, token: AccessToken, heldBack?: Promise<unknown>) {
  return createByTool(step, newRequest(step, application), { ...buildToolOptions(token), heldBack });
}

const buildToolOptions = (token: AccessToken) => ({ id: 1, token, expects: ['spending_limit_reached'] as const });

/** Tokens whose grant has not ended and that can be refreshed. */
function listRefreshable({ state }: Step, { tokens }: Application): AccessToken[] {
  return tokens.filter(
    ({ revokeRequestedAt, refreshToken, refreshExpiresAt }) =>
      revokeRequestedAt === null && refreshToken !== null && !isSoonOver(state, refreshExpiresAt),
  );
}

/**
 * Refreshes with one token several times at the same moment and after lost responses: each time there are tokens. Once
 * one of these was refreshed, the first one is used again now and then: it must be rejected, with all tokens of its
 * grant. A refresh of unknown outcome may be carried out after that too, so that the grant may have ended from then on.
 */
async function refreshTokens(step: Step, application: Application, token: AccessToken): Promise<void> {
  const { random, state } = step;
  const first = token.refreshToken as string;
  token.refreshToken = null;
  let mayBeRepeated = false;
  const refresh = async (text: string, address = random.pick(state.addresses)): Promise<IssuedTokens> => {
    const { result } = await retryUntilKnown(step, async () => {
      const outcome = await refreshOnce(step, application.clientId, address, text);
      mayBeRepeated ||= outcome === 'unknown';
      return { result: outcome, isUnknown: outcome === 'unknown' };
    });
    return result;
  };
  const reportRejection = (detail: string) => report(step, 'refresh-returns-tokens', token.uuid, detail);
  const isClear = watchCircumstances(step);
  const results = await inParallel(step, PARALLEL_REFRESHES, (address) => refresh(first, address));
  const issued = results.filter((result) => typeof result === 'object');
  const isRejected = results.includes('rejected');
  if (isRejected && isClear()) reportRejection(`${issued.length} of ${PARALLEL_REFRESHES} refreshes had tokens`);
  if (isRejected) token.revokeRequestedAt ??= performance.now();
  if (new Set(issued.map(({ refreshToken }) => refreshToken)).size < issued.length)
    reportRejection('two refreshes returned the same token');
  const [used, ...others] = issued;
  if (used === undefined || isRejected) return;
  const next = await refresh(used.refreshToken);
  if (next === 'rejected' && !mayBeRepeated && isClear()) reportRejection('a successor was rejected');
  if (next === 'rejected' || mayBeRepeated) token.revokeRequestedAt ??= performance.now();
  if (typeof next !== 'object') return;
  token.refreshToken = next.refreshToken;
  await useAccessToken(step, token);
  if (!random.chance(REUSE_SHARE)) return;
  token.revokeRequestedAt ??= performance.now();
  const again = await refresh(first);
  if (typeof again === 'object')
    report(step, 'used-refresh-token-is-rejected', token.uuid, 'it returned tokens after a successor was used');
  if (again !== 'rejected' || !isClear()) return;
  token.revokedAt ??= performance.now();
  const left = [next, ...others].map(({ refreshToken }) => refreshToken);
  await tryEndedGrant(step, application, token, left);
}

/** Watches whether something else than the tokens explains a rejection: a suspension, a clock, or too much time. */
function watchCircumstances({ customer, state }: Step): () => boolean {
  const beganAt = performance.now();
  return () => {
    const endedAt = performance.now();
    const isInTime = endedAt - beganAt < GRACE_MS && state.haveClocksAgreedSince(beganAt);
    return isInTime && !mayBeSuspended(customer, { beganAt, endedAt });
  };
}

/** Uses an access token for a tool that reads. `callTool` checks the response. */
async function useAccessToken(step: Step, token: AccessToken): Promise<void> {
  await callTool(step, { name: 'get_usage', output: 'usage', id: 1, idempotencyKey: newStepId(step), token });
}

/** Uses all tokens of a grant that has ended: the access token at its process, and refresh tokens at every process. */
async function tryEndedGrant(
  step: Step,
  { clientId }: Application,
  token: AccessToken,
  refreshTexts = token.refreshToken === null ? [] : [token.refreshToken],
): Promise<void> {
  const refreshed = everywhere(step, (address) =>
    Promise.all(
      refreshTexts.map(async (text) => {
        if (typeof (await refreshOnce(step, clientId, address, text)) !== 'object') return;
        report(step, 'revoked-key-is-rejected', token.uuid, `a refresh at ${address} returned tokens`);
      }),
    ),
  );
  await Promise.all([useAccessToken(step, token), refreshed]);
}
