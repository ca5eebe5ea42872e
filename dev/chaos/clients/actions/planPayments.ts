import type Stripe from 'stripe';
import { getPlanSlugs } from '../../../../shared/lib/catalog/catalog.ts';
import type { PlanSlug } from '../../../../shared/spec/plans.ts';
import { findCharge } from '../../../../test/fakes/stripe/reversals.ts';
import { listInvoices } from '../../../../test/fakes/stripe/subscriptions.ts';
import { sleepUnlessStopped, type Step } from '../clientState.ts';
import { openCheckoutPage } from './subscriptions.ts';
import { tryAtProcessor } from './topups.ts';

const MAX_WAIT_MS = 1_500;
const DISPUTE_WAIT_MS = [500, 3_000] as const;

/**
 * Upgrades the plan of a customer and returns payments for it: upgrades in any order, an upgrade that is disputed, or the
 * year below an upgrade. Only upgrades are refunded of hot customers whose clients need a plan.
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
  if (payment !== undefined) await dispute(step, payment, choice < 0.75 ? random.pick(['won', 'lost']) : 'lost');
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

/** Subscribes to the smallest plan, if there is no plan or no larger one: the year of the largest plan is refunded first. */
async function returnToSmallestPlan(step: Step): Promise<void> {
  const { state, random } = step;
  const plan = findPlan(step);
  if (plan !== null) {
    if (plan !== getPlanSlugs().at(-1) || listPayments(step, 'upgrade').length > 0) return;
    for (const { id } of listPayments(step, 'year')) tryAtProcessor(() => state.stripe.refund(id));
    await sleepUnlessStopped(state, random.nextBetween(MAX_WAIT_MS, 2 * MAX_WAIT_MS));
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
    await sleepUnlessStopped(state, random.nextBetween(0, MAX_WAIT_MS));
    tryAtProcessor(() => stripe.refund(id));
  }
}

/** Disputes a payment at the bank, which decides some seconds later. */
async function dispute(step: Step, { id }: Stripe.Invoice, outcome: 'won' | 'lost'): Promise<void> {
  const { state, random } = step;
  const opened = tryAtProcessor(() => state.stripe.openDispute(id));
  if (opened === undefined) return;
  try {
    await sleepUnlessStopped(state, random.nextBetween(...DISPUTE_WAIT_MS));
  } finally {
    tryAtProcessor(() => state.stripe.closeDispute(opened.id, outcome));
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
