import { type AccessToken, mayHaveExpired } from '../accessTokens.ts';
import {
  buildLimitFields,
  connectApplication,
  type LimitChoice,
  registerApplication,
  revokeToken,
  submitPageForm,
} from '../oauthRequests.ts';
import { type CreateRequest, newCreateRequest, recordCreateResponse, recordSent } from '../createRequests.ts';
import type { Application } from '../customers.ts';
import { signInCustomer } from '../onboardCustomer.ts';
import { sendPageRequest } from '../pageRequests.ts';
import { callTool, type ToolResult } from '../mcpRequests.ts';
import { newStepId, reportViolation, sleepUnlessStopped, type Step } from '../clientState.ts';
import { retryUntilKnown } from '../retry.ts';
import { isDayTurning, isMonthSettled, listEarlier, refundEarlier } from './limitedKeys.ts';
import { verifyToolShape } from './mcpTools.ts';
import { listRefreshable, refreshTokens, tryEndedGrant } from './refreshTokens.ts';

const APPLICATIONS_PATH = '/account/applications/';
/** Number of simultaneous creates of one application. */
const BURST_SIZE = 16;
const MAX_PAGE_ATTEMPTS = 8;

/**
 * Uses an application of the customer, which all clients share: connects it on the consent page, creates with it under
 * its limit, changes the limit, or disconnects it. Its limits have windows, which begin and change only while no month
 * passes.
 */
export async function useApplication(step: Step): Promise<void> {
  const { customer, random, state } = step;
  const { application } = customer;
  if (application === null) {
    await registerFor(step);
    return;
  }
  const refreshable = listRefreshable(step, application);
  if (refreshable.length > 0 && random.chance(0.25)) {
    await change(application, () => refreshTokens(step, application, random.pick(refreshable)));
    return;
  }
  const connected = state.addresses.filter((address) => listTokens(step, application, address).length > 0);
  const unconnected = state.addresses.filter((address) => !connected.includes(address));
  const isConnected = connected.length > 0;
  if (application.isChanging) await createInBurst(step, application);
  else if (isConnected && random.chance(0.5)) {
    const end = random.pick([disconnect, revokeOne]);
    await change(application, () => end(step, application));
  } else if (!isMonthSettled(state)) return;
  else if (unconnected.length > 0) {
    await change(application, () => connect(step, application, unconnected));
    await createInBurst(step, application);
    if (random.chance(0.5)) await change(application, () => disconnect(step, application));
  } else if (random.chance(isDayTurning(state) ? 0.7 : 0.4) && listEarlier(step, application.created).length > 0)
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
function pickLimit({ random }: Step): LimitChoice {
  return (used) => {
    if (random.chance(0.05)) return null;
    const credits = random.chance(0.15) ? random.nextBetween(1, Math.max(1, used)) : used + random.nextBetween(8, 80);
    return { credits, period: random.pick(['day', 'month'] as const) };
  };
}

/** Changes the limit on the page of the application. */
async function changeLimit(
  step: Step,
  application: Application,
  chooseLimit: LimitChoice = pickLimit(step),
): Promise<void> {
  if (!isMonthSettled(step.state)) return;
  const address = step.random.pick(step.state.addresses);
  const uuid = await findOnPage(step, application, address);
  if (uuid === undefined) return;
  const path = `${APPLICATIONS_PATH}${uuid}/limit/`;
  await submitPageForm(step, {
    kind: 'page limit',
    address,
    path,
    fields: (page) => buildLimitFields(page, chooseLimit),
  });
}

/** Finds the application in the list on the page. @returns the uuid in its links; undefined without a page. */
async function findOnPage(step: Step, { name }: Application, address: string): Promise<string | undefined> {
  const page = await sendPageRequest(step, {
    kind: 'page applications',
    method: 'GET',
    path: APPLICATIONS_PATH,
    address,
  });
  // The session has ended, as it does when a month passes.
  if (page.status === 302 || page.status === 303) await signInCustomer(step);
  return new RegExp(`/account/applications/([0-9a-f-]{36})/end/" aria-label="Disconnect ${name}"`).exec(page.text)?.[1];
}

/** Maximum time for which a create is held back. The service waits 30 s for a body. */
const HELD_BACK_MAX_MS = 12_000;

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
  const completed = holdBack(step, ended.signal).then(
    () => performance.now(),
    () => performance.now(),
  );
  const creates = Promise.all(
    [...tokens, ...tokens].map(async (token) => {
      const request = newRequest(step, application.clientId);
      const { isGood } = await createWithToken(step, token, request, completed);
      if (!isGood || token.revokedAt === null || token.revokedAt > (await completed)) return;
      const detail = 'a create was accepted that was completed after the revocation';
      reportViolation(step, 'revoked-key-is-rejected', token.uuid, detail);
    }),
  );
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
    const path = `${APPLICATIONS_PATH}${uuid}/end/`;
    const reply = await submitPageForm(step, { kind: 'page disconnect', address, path, fields: () => ({}) });
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
    tokens.flatMap((token) => [
      createWithToken(step, token, newRequest(step, application.clientId)),
      tryEndedGrant(step, application, token),
    ]),
  );
}

/** Sends many creates at the same moment to all processes. */
async function createInBurst(step: Step, application: Application): Promise<void> {
  const { addresses } = step.state;
  const sent = Array.from({ length: BURST_SIZE }, async (_, index) => {
    const [token] = listTokens(step, application, addresses[index % addresses.length] as string);
    if (token === undefined) return;
    const request = newRequest(step, application.clientId);
    const send = async () =>
      // A charge while a month passes could be in the wrong window.
      isMonthSettled(step.state) ? createWithToken(step, token, request) : { isUnknown: false };
    await (index === 0 ? retryUntilKnown(step, send) : send());
    for (const uuid of request.observed.uuids) application.created.push({ uuid, at: step.state.now() });
  });
  await Promise.all(sent);
}

function newRequest(step: Step, clientId: string): CreateRequest {
  const request = newCreateRequest(step, newStepId(step), 'MCP');
  request.observed.clientId = clientId;
  return request;
}

/** Creates with a tool once. */
async function createWithToken(
  step: Step,
  token: AccessToken,
  request: CreateRequest,
  heldBack?: Promise<unknown>,
): Promise<Pick<ToolResult, 'isGood' | 'isUnknown'>> {
  const { observed, params } = request;
  recordSent(step, request);
  const response = await callTool(step, {
    name: observed.model === 'imgmodel-2' ? 'generate_image' : 'generate_video',
    args: { prompt: observed.prompt, ...params },
    id: 1,
    idempotencyKey: observed.idempotencyKey,
    expectedErrors: [
      'subscription_required',
      'insufficient_credits',
      'parallel_limit_reached',
      'model_unavailable',
      'spending_limit_reached',
    ],
    token,
    ...(heldBack === undefined ? {} : { heldBack }),
  });
  if (response.isGood) verifyToolShape(step, 'generation', response);
  recordCreateResponse(step, request, response, response.structured, 'MCP');
  return response;
}
