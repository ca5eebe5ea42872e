import { call } from './api.ts';
import { createKey } from './actions/keys.ts';
import { openCheckoutPage, tryAtProcessor } from './actions/payments.ts';
import { createLastingEndpoint } from './actions/webhooks.ts';
import { report, retryUntilDone, sleepUnlessStopped, type Step } from './clientState.ts';
import { getActiveKeys } from './customers.ts';
import { recordRequest, sendHttp } from './httpClient.ts';
import { callWithSession, readCookie, signInCustomer } from './sessions.ts';

/** Number of status reads after payment before the customer checks out again. */
const MAX_STATUS_READS = 12;

/** Onboards a customer, through all faults. @throws StoppedError */
export async function onboardCustomer(step: Step): Promise<void> {
  const { customer } = step;
  const { role } = customer;
  await retryUntilDone(step, () => signUpCustomer(step));
  await retryUntilDone(step, async () => (await createKey(step, callWithSession)) !== undefined);
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
  const reply = await sendHttp(step, { method: 'GET', path: `/r/${random.pick(codes)}`, address });
  recordRequest(step, 'follow link', reply, null);
  return readCookie(reply.headers['set-cookie'], 'referral');
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
  const status = await call(step, 'billing status', (api) => api.send('GET /api/billing/status/'));
  return status.isGood && status.body.plan !== null;
}

async function enrollAffiliate(step: Step): Promise<boolean> {
  const enroll = () => call(step, 'enroll', (api) => api.send('POST /api/affiliate/enroll/'));
  const response = await enroll();
  if (!response.isGood) return false;
  step.customer.code = response.body.code as string;
  const again = await enroll();
  if (again.isGood && again.body.code !== step.customer.code)
    report(step, 'referral-code-is-stable', step.customer.code, `and ${again.body.code}`);
  return true;
}

async function onboardPayouts(step: Step): Promise<boolean> {
  const response = await call(step, 'onboard', (api) => api.send('POST /api/affiliate/onboarding-link/'));
  if (response.isGood) tryAtProcessor(() => step.state.stripe.onboard(response.body.url as string));
  return response.isGood;
}

async function enableAutoTopups(step: Step): Promise<boolean> {
  const { random } = step;
  const settings = {
    auto_topup_enabled: true,
    auto_topup_amount_cents: 100 * random.nextBetween(50, 80),
    // Half of the customers want more than one top-up buys: their next one waits only for the hour to pass.
    auto_topup_threshold_credits:
      step.customer.role.threshold ??
      (random.chance(0.5) ? random.nextBetween(100, 2_500) : random.nextBetween(20_000, 90_000)),
  };
  const response = await call(
    step,
    'change top-up settings',
    (api) => api.send('PATCH /api/billing/topup/settings/', settings),
    // The plan may have ended in the meantime.
    { expects: ['subscription_required'] },
  );
  return response.isGood;
}

/** Returns true if clients can use this customer. */
export function isUsable({ customer }: Step): boolean {
  return customer.isReady && getActiveKeys(customer).length > 0;
}
