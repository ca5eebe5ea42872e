import { getPlanSlugs } from '../../../../shared/lib/catalog/catalog.ts';
import type { PlanSlug } from '../../../../shared/spec/plans.ts';
import type { CheckoutOptions } from '../../../../test/fakes/stripe/checkout.ts';
import { type RestResponse, sendWithKey } from '../restRequests.ts';
import { retryUntilKnown } from '../retry.ts';
import { newStepId, sleepUnlessStopped, type Step } from '../clientState.ts';
import { getJson } from './lists.ts';
import { tryAtProcessor } from './topups.ts';

/** Changes a subscription: another plan, a cancellation at renewal or at once, and a return. */
export async function changeSubscription(step: Step): Promise<void> {
  const { state, customer, random } = step;
  const uuid = customer.uuid as string;
  if (customer.role.plan === null)
    return random.chance(0.4) ? openCheckoutPage(step, random.pick(getPlanSlugs()), false) : payAfterCancellation(step);
  const status = await getJson(step, 'billing status', '/api/billing/status/', 'billingStatus');
  if (!status.isGood) return;
  if (status.body.status !== 'active') return openCheckoutPage(step, random.pick(getPlanSlugs()), true);
  const choice = random.next();
  if (choice < 0.5) return openCheckoutPage(step, random.pick(getPlanSlugs()), random.chance(0.9));
  if (choice < 0.7) tryAtProcessor(() => state.stripe.cancelAtPeriodEnd(uuid, random.pick(['flag', 'date'] as const)));
  else if (choice < 0.9) tryAtProcessor(() => state.stripe.resume(uuid));
  // Hot accounts keep their subscription, so that their clients have something to do.
  else if (choice < 0.95 && !customer.role.isHot) tryAtProcessor(() => state.stripe.cancelNow(uuid));
  else await requestPortal(step);
}

/** Opens the page where a plan is paid or a switch is confirmed, and completes it. */
export async function openCheckoutPage(
  step: Step,
  plan: PlanSlug,
  isToPay: boolean,
  options: CheckoutOptions = {},
): Promise<void> {
  const { state, customer } = step;
  const url = await requestCheckoutPage(step, plan);
  if (url === null || !isToPay) return;
  if (!url.includes('cs_test_')) {
    tryAtProcessor(() => state.stripe.confirmPlanSwitch(url));
    return;
  }
  const session = tryAtProcessor(() => state.stripe.completeCheckout(url, options));
  const subscriptionId = session?.subscription;
  if (typeof subscriptionId !== 'string') return;
  state.store.plans.push({ accountUuid: customer.uuid as string, plan, subscriptionId, at: Date.now() });
}

/** Pays through a slow bank, and cancels before the money arrives: all of it must be refunded. */
async function payAfterCancellation(step: Step): Promise<void> {
  const { state, random } = step;
  const url = await requestCheckoutPage(step, random.pick(getPlanSlugs()));
  if (url === null || !url.includes('cs_test_')) return;
  const subscriptionId = tryAtProcessor(() => state.stripe.completeCheckout(url, { async: true }))?.subscription;
  if (typeof subscriptionId !== 'string') return;
  try {
    await sleepUnlessStopped(state, random.nextBetween(100, 500));
  } finally {
    tryAtProcessor(() => state.stripe.cancelNow(subscriptionId));
    tryAtProcessor(() => state.stripe.settlePayment(url, 'succeeded'));
  }
}

/** Requests the page for a plan or a switch. @returns its URL; null without one. */
export async function requestCheckoutPage(step: Step, plan: PlanSlug): Promise<string | null> {
  const key = newStepId(step);
  const response = await retryUntilKnown(step, () => requestCheckout(step, plan, key));
  return response.isGood ? (response.body.checkout_url as string | null) : null;
}

function requestCheckout(step: Step, plan: PlanSlug, key: string): Promise<RestResponse> {
  return sendWithKey(step, {
    kind: 'checkout',
    method: 'POST',
    path: '/api/billing/checkout/',
    body: { plan },
    headers: { 'idempotency-key': key },
    // The customer has the plan already, or an invoice is open.
    expectedErrors: ['validation_error'],
    status: 200,
    shape: 'checkout',
  });
}

async function requestPortal(step: Step): Promise<void> {
  await sendWithKey(step, {
    kind: 'portal',
    method: 'POST',
    path: '/api/billing/portal/',
    status: 200,
    shape: 'portal',
  });
}
