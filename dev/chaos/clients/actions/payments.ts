import type Stripe from 'stripe';
import { getPlanSlugs } from '../../../../shared/lib/catalog/catalog.ts';
import type { PlanSlug } from '../../../../shared/spec/plans.ts';
import type { CheckoutOptions } from '../../../../test/fakes/stripe/checkout.ts';
import { findCharge } from '../../../../test/fakes/stripe/reversals.ts';
import { listInvoices } from '../../../../test/fakes/stripe/subscriptions.ts';
import { call, callUntilKnown } from '../api.ts';
import { newStepId, report, retryUntilKnown, sleepUnlessStopped, type Step } from '../clientState.ts';
import { createMany } from './generations.ts';
import { readLists } from './lists.ts';

const IDEMPOTENT_MS = 20 * 3_600_000;
/** Bursts of creates while the event of a payment is late. */
const LATE_BURSTS = 8;
const LATE_AMOUNT_CENTS = 20_000;
/** Checkout pages that are paid at the same moment. */
const PARALLEL_PAGES = 4;
const DISPUTE_WAIT_MS = [500, 3_000] as const;
const MAX_REVERSAL_WAIT_MS = 1_500;

/** Performs an action at the payment processor; undefined if it is no longer possible. */
export function tryAtProcessor<Found>(act: () => Found): Found | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

/** Opens a top-up page, sometimes several times with one idempotency key, and usually pays there. */
export async function buyTopup(step: Step): Promise<void> {
  const { random, state } = step;
  const amountCents = 100 * random.nextBetween(50, 200);
  const key = newStepId(step);
  const startedAt = state.now();
  const times = random.chance(0.15) ? 4 : 1;
  const request = () => retryUntilKnown(step, () => requestTopup(step, amountCents, key));
  const responses = await Promise.all(Array.from({ length: times }, request));
  const pages = responses.flatMap(({ body }) => body?.checkout_url ?? []);
  const isSameDay = Math.abs(state.now().getTime() - startedAt.getTime()) < IDEMPOTENT_MS;
  if (new Set(pages).size > 1 && isSameDay)
    report(step, 'same-key-same-response', key, [...new Set(pages)].join(' and '));
  const [page] = pages;
  if (page !== undefined && random.chance(0.9)) await payTopup(step, page, amountCents);
}

/**
 * Opens several pages and pays all of them at the same moment, while the account creates as much as its limits allow.
 */
export async function topUpWhileCreating(step: Step): Promise<void> {
  const amounts = Array.from({ length: PARALLEL_PAGES }, () => 100 * step.random.nextBetween(50, 60));
  const opened = await Promise.all(amounts.map((amountCents) => requestTopup(step, amountCents)));
  const payments = opened.map(async ({ body }, index) => {
    if (body?.checkout_url != null) await payTopup(step, body.checkout_url, amounts[index] as number);
  });
  await Promise.all([...payments, createMany(step)]);
}

/**
 * Pays a page whose event does not arrive, and then creates until the balance needs the credits of the page. Other
 * clients read meanwhile, so that no automatic top-up can have begun before.
 */
export async function payWithLateEvent(step: Step): Promise<void> {
  const { state, customer } = step;
  const { stripe } = state;
  const customerId = tryAtProcessor(() => stripe.findCustomerId(customer.uuid as string));
  if (customerId === undefined || !stripe.delivery.hold(customerId)) return readLists(step);
  try {
    const { body } = await requestTopup(step, LATE_AMOUNT_CENTS);
    const session = tryAtProcessor(() => stripe.completeCheckout(body?.checkout_url as string));
    if (session === undefined) return;
    recordPayment(step, session.id, LATE_AMOUNT_CENTS, true);
    for (let burst = 0; burst < LATE_BURSTS; burst += 1) {
      await createMany(step);
      await sleepUnlessStopped(state, 1_000);
    }
  } finally {
    stripe.delivery.release(customerId);
  }
}

/** Requests the page for a top-up. */
export function requestTopup(step: Step, amountCents: number, idempotencyKey = newStepId(step)) {
  return call(step, 'top up', (api) => api.billing.topUp({ amount_cents: amountCents }, { idempotencyKey }), {
    expects: ['subscription_required', 'rate_limited'],
  });
}

/** Pays on a page: at once, after a declined card, or through a slow bank. */
async function payTopup(step: Step, page: string, amountCents: number): Promise<void> {
  const { state, random } = step;
  const { stripe } = state;
  const isSlow = random.chance(0.1);
  if (random.chance(0.1)) tryAtProcessor(() => stripe.completeCheckout(page, { declined: true }));
  const session = tryAtProcessor(() => stripe.completeCheckout(page, { async: isSlow }));
  // The page may have expired, since clocks are moved.
  if (session === undefined) return;
  if (isSlow) await actLater(step, [200, 1_000], () => tryAtProcessor(() => stripe.settlePayment(page, 'succeeded')));
  recordPayment(step, session.id, amountCents, false);
}

function recordPayment({ state, customer }: Step, sessionId: string, amountCents: number, isAwaited: boolean): void {
  const accountUuid = customer.uuid as string;
  state.journal.topups.push({ accountUuid, sessionId, amountCents, at: Date.now(), isAwaited });
}

/** Changes a subscription: another plan, a cancellation at renewal or at once, and a return. */
export async function changeSubscription(step: Step): Promise<void> {
  const { state, customer, random } = step;
  const { stripe } = state;
  const uuid = customer.uuid as string;
  if (customer.role.plan === null)
    return random.chance(0.4) ? openCheckoutPage(step, random.pick(getPlanSlugs()), false) : payAfterCancellation(step);
  const status = await call(step, 'billing status', (api) => api.send('GET /api/billing/status/'));
  if (!status.isGood) return;
  if (status.body.status !== 'active') return openCheckoutPage(step, random.pick(getPlanSlugs()), true);
  const choice = random.next();
  if (choice < 0.5) return openCheckoutPage(step, random.pick(getPlanSlugs()), random.chance(0.9));
  if (choice < 0.7) tryAtProcessor(() => stripe.cancelAtPeriodEnd(uuid, random.pick(['flag', 'date'] as const)));
  else if (choice < 0.9) tryAtProcessor(() => stripe.resume(uuid));
  // Hot accounts keep their subscription, so that their clients have something to do.
  else if (choice < 0.95 && !customer.role.isHot) tryAtProcessor(() => stripe.cancelNow(uuid));
  else await call(step, 'portal', (api) => api.send('POST /api/billing/portal/'));
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
  const subscriptionId = tryAtProcessor(() => state.stripe.completeCheckout(url, options))?.subscription;
  if (typeof subscriptionId !== 'string') return;
  state.journal.plans.push({ accountUuid: customer.uuid as string, plan, subscriptionId });
}

/** Pays through a slow bank, and cancels before the money arrives: all of it must be refunded. */
async function payAfterCancellation(step: Step): Promise<void> {
  const { stripe } = step.state;
  const url = await requestCheckoutPage(step, step.random.pick(getPlanSlugs()));
  if (url === null || !url.includes('cs_test_')) return;
  const subscriptionId = tryAtProcessor(() => stripe.completeCheckout(url, { async: true }))?.subscription;
  if (typeof subscriptionId !== 'string') return;
  await actLater(step, [100, 500], () => {
    tryAtProcessor(() => stripe.cancelNow(subscriptionId));
    tryAtProcessor(() => stripe.settlePayment(url, 'succeeded'));
  });
}

/** Requests the page for a plan or a switch. @returns its URL; null without one. */
export async function requestCheckoutPage(step: Step, plan: PlanSlug): Promise<string | null> {
  const key = newStepId(step);
  // The customer has the plan already, or an invoice is open.
  const response = await callUntilKnown(
    step,
    'checkout',
    (api) => api.send('POST /api/billing/checkout/', { plan }, key),
    {
      expects: ['validation_error'],
    },
  );
  return response.isGood ? (response.body.checkout_url as string | null) : null;
}

/** Refunds part of a top-up, or disputes it at the bank, which decides some seconds later. */
export async function refundOrDispute(step: Step): Promise<void> {
  const { state, random } = step;
  const paid = listPaidTopups(step);
  if (paid.length === 0) return;
  const { intent, amountCents } = random.pick(paid);
  if (random.chance(0.5)) {
    const refundedCents = random.chance(0.5) ? amountCents : random.nextBetween(1, amountCents);
    tryAtProcessor(() => state.stripe.refund(intent, refundedCents));
  } else await dispute(step, intent, random.pick(['won', 'lost'] as const));
}

/**
 * Refunds the oldest top-up while generations are in progress. A part of it is spent, the newer ones must stay, and
 * what the generations give back is owed.
 */
export async function refundWhileCreating(step: Step): Promise<void> {
  const { stripe } = step.state;
  const oldest = listPaidTopups(step).find(({ intent }) =>
    stripe.store
      .list('charge')
      .some((charge) => charge.payment_intent === intent && !charge.refunded && !charge.disputed),
  );
  if (oldest === undefined) return;
  const creating = createMany(step);
  try {
    await actLater(step, [0, 500], () => tryAtProcessor(() => stripe.refund(oldest.intent)));
  } finally {
    await creating;
  }
}

/** Lists the top-ups that the customer has paid on a page, oldest first. */
function listPaidTopups({ state, customer }: Step): { intent: string; amountCents: number }[] {
  return state.journal.topups
    .filter(({ accountUuid }) => accountUuid === customer.uuid)
    .flatMap(({ sessionId, amountCents }) => {
      const intent = state.stripe.store.find('checkout.session', sessionId)?.payment_intent;
      return typeof intent === 'string' ? [{ intent, amountCents }] : [];
    });
}

/** Disputes a payment at the bank, which decides some seconds later. */
async function dispute(step: Step, payment: string, outcome: 'won' | 'lost'): Promise<void> {
  const { stripe } = step.state;
  const opened = tryAtProcessor(() => stripe.openDispute(payment));
  if (opened === undefined) return;
  await actLater(step, DISPUTE_WAIT_MS, () => tryAtProcessor(() => stripe.closeDispute(opened.id, outcome)));
}

/** Does something after a random time, also if clients are stopped meanwhile. */
async function actLater({ state, random }: Step, waitMs: readonly [number, number], act: () => unknown): Promise<void> {
  try {
    await sleepUnlessStopped(state, random.nextBetween(...waitMs));
  } finally {
    act();
  }
}

/**
 * Upgrades the plan of a customer and returns payments for it: upgrades in any order, an upgrade that is disputed, or
 * the year below an upgrade. Only upgrades are refunded of hot customers whose clients need a plan.
 */
export async function reversePlanPayments(step: Step): Promise<void> {
  const { random } = step;
  const { isHot, only } = step.customer.role;
  const mustKeepPlan = isHot && only !== 'plans';
  const choice = mustKeepPlan ? 0 : random.next();
  if (!mustKeepPlan) await returnToSmallestPlan(step);
  if (choice < 0.5) {
    await upgrade(step, 2);
    return refundUpgrades(step);
  }
  await upgrade(step, 1);
  const [payment] = listPayments(step, choice < 0.75 ? 'upgrade' : 'year');
  if (payment !== undefined) await dispute(step, payment.id, choice < 0.75 ? random.pick(['won', 'lost']) : 'lost');
}

/** Buys the next larger plans, one after the other. */
async function upgrade(step: Step, times: number): Promise<void> {
  for (let bought = 0; bought < times; bought += 1) {
    const plan = findPlan(step);
    const next = plan === null ? undefined : getPlanSlugs()[getPlanSlugs().indexOf(plan) + 1];
    if (next === undefined) return;
    await openCheckoutPage(step, next, true);
  }
}

/**
 * Subscribes to the smallest plan, if there is no plan or no larger one: the year of the largest plan is refunded
 * first.
 */
async function returnToSmallestPlan(step: Step): Promise<void> {
  const { state, random } = step;
  const plan = findPlan(step);
  if (plan !== null) {
    if (plan !== getPlanSlugs().at(-1) || listPayments(step, 'upgrade').length > 0) return;
    for (const { id } of listPayments(step, 'year')) tryAtProcessor(() => state.stripe.refund(id));
    await sleepUnlessStopped(state, random.nextBetween(MAX_REVERSAL_WAIT_MS, 2 * MAX_REVERSAL_WAIT_MS));
  }
  await openCheckoutPage(step, getPlanSlugs()[0] as PlanSlug, true);
}

/** Refunds the upgrades of the year in any order, some in two parts. */
async function refundUpgrades(step: Step): Promise<void> {
  const { state, random } = step;
  const { stripe } = state;
  const paid = listPayments(step, 'upgrade');
  for (const { id, amount_paid: paidCents } of random.chance(0.5) ? paid : paid.toReversed()) {
    if (random.chance(0.3)) tryAtProcessor(() => stripe.refund(id, Math.ceil(paidCents / 2)));
    await sleepUnlessStopped(state, random.nextBetween(0, MAX_REVERSAL_WAIT_MS));
    tryAtProcessor(() => stripe.refund(id));
  }
}

/** Returns the customer's present plan at the payment processor; null without one. */
function findPlan({ state: { stripe }, customer }: Step): PlanSlug | null {
  const subscription = tryAtProcessor(() => stripe.findSubscription(customer.uuid as string));
  if (subscription === undefined || subscription.status === 'canceled') return null;
  const price = subscription.items.data[0]?.price.id;
  return getPlanSlugs().find((slug) => stripe.prices[slug] === price) ?? null;
}

/** Lists the payments of the customer's subscription that were not returned or disputed, newest first. */
function listPayments({ state: { stripe }, customer }: Step, kind: 'upgrade' | 'year'): Stripe.Invoice[] {
  const subscription = tryAtProcessor(() => stripe.findSubscription(customer.uuid as string));
  if (subscription === undefined) return [];
  return listInvoices(stripe.store, subscription)
    .filter(({ billing_reason: reason }) => (reason === 'subscription_update') === (kind === 'upgrade'))
    .filter(({ id }) => {
      const charge = tryAtProcessor(() => findCharge(stripe.store, id));
      return charge?.refunded === false && !charge.disputed;
    });
}
