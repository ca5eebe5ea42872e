import { type RestResponse, sendWithKey, sendRest, type RestRequest } from './restRequests.ts';
import { createKey } from './actions/keys.ts';
import { getJson } from './actions/lists.ts';
import { createLastingEndpoint } from './actions/webhooks.ts';
import { openCheckoutPage } from './actions/subscriptions.ts';
import { tryAtProcessor } from './actions/topups.ts';
import { getActiveKeys } from './customers.ts';
import { recordRequest, parseJson, sendHttp } from './httpClient.ts';
import { reportViolation, sleepUnlessStopped, type Step } from './clientState.ts';

/** Number of status reads after payment before the customer checks out again. */
const MAX_STATUS_READS = 12;

/** Onboards a customer, through all faults. @throws StoppedError */
export async function onboardCustomer(step: Step): Promise<void> {
  const { customer } = step;
  const { role } = customer;
  await retryUntilDone(step, () => signUpCustomer(step));
  await retryUntilDone(
    step,
    async () => (await createKey(step, (question) => sendWithSession(step, question))) !== undefined,
  );
  if (role.hasEndpoints) {
    const webhookStep = { ...step, random: customer.random.fork('webhooks'), name: `${step.name} webhooks` };
    await retryUntilDone(webhookStep, () => createLastingEndpoint(webhookStep));
  }
  // From here on clients may use it: the remaining steps take their time.
  if (role.isAffiliate) await retryUntilDone(step, () => enrollAffiliate(step));
  if (role.plan !== null) await retryUntilDone(step, () => subscribeCustomer(step));
  customer.isReady = true;
  if (role.isAffiliate) await retryUntilDone(step, () => onboardPayouts(step));
  if (role.hasAutoTopups) await retryUntilDone(step, () => enableAutoTopups(step));
}

async function retryUntilDone(customerStep: Step, attempt: () => Promise<boolean>): Promise<void> {
  while (!(await attempt())) await sleepUnlessStopped(customerStep.state, customerStep.random.nextBetween(200, 1_000));
}

/** Signs in; referred customers do so for the first time through an affiliate's link. */
async function signUpCustomer(step: Step): Promise<boolean> {
  const { role, uuid } = step.customer;
  if (!role.isReferred || uuid !== null) return signInCustomer(step);
  const link = await followReferralLink(step);
  return link !== null && (await signInCustomer(step, link));
}

async function followReferralLink(step: Step): Promise<string | null> {
  const { state, random } = step;
  const codes = state.customers.map(({ code }) => code).filter((code) => code !== null);
  if (codes.length === 0) return null;
  const address = random.pick(state.addresses);
  const kind = 'follow link';
  const reply = await sendHttp(state, { kind, method: 'GET', path: `/r/${random.pick(codes)}`, address, headers: {} });
  recordRequest(state, kind, reply, null);
  return readCookie(reply.headers['set-cookie'], 'referral');
}

/**
 * Signs in and stores the cookie.
 * @returns false if that failed.
 */
export async function signInCustomer(step: Step, cookie?: string): Promise<boolean> {
  const { state, customer } = step;
  const response = await sendRest(step, {
    kind: 'sign in',
    method: 'POST',
    path: '/authentication/dev/sign-in/',
    body: { email: customer.email },
    headers: cookie === undefined ? {} : { cookie },
    status: 200,
    // The account may be erased while the sign-in waits for it.
    expectedErrors: customer.isLeaving === true ? ['not_found'] : [],
    shape: 'user',
  });
  if (!response.isGood) return false;
  const { uuid, email } = response.body.user as { uuid: string; email: string };
  if (customer.uuid !== null && customer.uuid !== uuid) {
    reportViolation(step, 'created-exists', email, `was the account ${customer.uuid} and is ${uuid}`);
  }
  customer.uuid = uuid;
  customer.cookie = readCookie(response.headers['set-cookie'], 'token');
  state.store.accounts.set(uuid, email);
  return customer.cookie !== null;
}

export function readCookie(lines: string | string[] | undefined, name: string): string | null {
  const cookies = [lines ?? []].flat().map((line) => line.split(';')[0] as string);
  return cookies.find((cookie) => cookie.startsWith(`${name}=`)) ?? null;
}

/** Sends a request with the session cookie, and signs in again if the session is over, or too old for the request. */
export async function sendWithSession(step: Step, request: RestRequest): Promise<RestResponse> {
  const { state, customer, random } = step;
  const address = random.pick(state.addresses);
  const origin = await discoverOrigin(step, address);
  const headers = { ...request.headers, cookie: customer.cookie ?? '', ...(origin === null ? {} : { origin }) };
  const expectedErrors = [...(request.expectedErrors ?? []), 'insufficient_scope' as const];
  const response = await sendRest(step, { ...request, address, headers, expectedErrors });
  if (response.status === 401 || response.code === 'insufficient_scope') {
    state.origins.delete(address);
    await signInCustomer(step);
    return { ...response, isUnknown: true };
  }
  return response;
}

/** Discovers the service's own origin, since requests go through a proxy. Null if the response does not contain it. */
export async function discoverOrigin({ state }: Step, address: string): Promise<string | null> {
  const known = state.origins.get(address);
  if (known !== undefined) return known;
  const kind = 'discover';
  const path = '/.well-known/oauth-protected-resource';
  const reply = await sendHttp(state, { kind, method: 'GET', path, address, headers: {} });
  recordRequest(state, kind, reply, null);
  const resource: unknown = parseJson(reply.text)?.resource;
  if (typeof resource !== 'string') return null;
  const { origin } = new URL(resource);
  state.origins.set(address, origin);
  return origin;
}

/** Pays for the plan, and waits for it to become active. */
async function subscribeCustomer(step: Step): Promise<boolean> {
  const { customer, state, random } = step;
  if (customer.role.plan === null || (await isSubscribed(step))) return true;
  await openCheckoutPage(step, customer.role.plan, true);
  for (let look = 0; look < MAX_STATUS_READS; look += 1) {
    await sleepUnlessStopped(state, random.nextBetween(200, 500));
    if (await isSubscribed(step)) return true;
  }
  return false;
}

async function isSubscribed(step: Step): Promise<boolean> {
  const status = await getJson(step, 'billing status', '/api/billing/status/', 'billingStatus');
  return status.isGood && status.body.plan !== null;
}

async function enrollAffiliate(step: Step): Promise<boolean> {
  const request = {
    kind: 'enroll',
    method: 'POST',
    path: '/api/affiliate/enroll/',
    status: 200,
    shape: 'enroll',
  } as const;
  const response = await sendWithKey(step, request);
  if (!response.isGood) return false;
  step.customer.code = response.body.code as string;
  const again = await sendWithKey(step, request);
  if (again.isGood && again.body.code !== step.customer.code) {
    reportViolation(step, 'referral-code-is-stable', step.customer.code, `and ${again.body.code}`);
  }
  return true;
}

async function onboardPayouts(step: Step): Promise<boolean> {
  const response = await sendWithKey(step, {
    kind: 'onboard',
    method: 'POST',
    path: '/api/affiliate/onboarding-link/',
    status: 200,
    shape: 'onboardingLink',
  });
  if (!response.isGood) return false;
  tryAtProcessor(() => step.state.stripe.onboard(response.body.url as string));
  return true;
}

async function enableAutoTopups(step: Step): Promise<boolean> {
  const { random } = step;
  const response = await sendWithKey(step, {
    kind: 'change top-up settings',
    method: 'PATCH',
    path: '/api/billing/topup/settings/',
    body: {
      auto_topup_enabled: true,
      auto_topup_amount_cents: 100 * random.nextBetween(50, 80),
      // Half of the customers want more than one top-up buys: their next one waits only for the hour to pass.
      auto_topup_threshold_credits:
        step.customer.role.threshold ??
        (random.chance(0.5) ? random.nextBetween(100, 2_500) : random.nextBetween(20_000, 90_000)),
    },
    // The plan may have ended in the meantime.
    expectedErrors: ['subscription_required'],
    status: 200,
    shape: 'topupSettings',
  });
  return response.isGood;
}

/** Returns true if clients can use this customer. */
export function isUsable(step: Step): boolean {
  return step.customer.isReady && getActiveKeys(step.customer).length > 0;
}
