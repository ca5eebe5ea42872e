import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { addMonths } from '../lib/calendar.ts';
import { now } from '../lib/clock.ts';
import { ServiceError } from '../spec/errors.ts';
import { type Plan, type PlanSlug, planBySlug } from '../spec/plans.ts';
import { Account } from '../tables/Account.ts';
import { Subscription } from '../tables/Subscription.ts';
import { lockAccount, moveCredits } from './credits.ts';

/** The one payment processor (docs/decisions.md: Billing). */
export const PROCESSOR = 'stripe';

export interface BillingStatus {
  plan: Plan | null;
  /** `none` where there never was a subscription. */
  status: Subscription['status'] | 'none';
  currentPeriodEnd: Date | null;
  cancelAtPeriodEnd: boolean;
  hasPaymentMethod: boolean;
}

/** Where an account stands with its subscription: the live one, or the last one it had. */
export async function billingStatus(accountId: number): Promise<BillingStatus> {
  const account = await Account.query().findById(accountId).throwIfNotFound();
  const latest = await Subscription.query().where({ account_id: accountId }).orderBy('id', 'desc').first();
  const plan = activePlan(account);
  return {
    plan,
    status: plan === null && latest !== undefined ? 'canceled' : (latest?.status ?? 'none'),
    currentPeriodEnd: latest?.current_period_end ?? null,
    cancelAtPeriodEnd: latest?.cancel_at_period_end ?? false,
    // Keyless: every plan is given away, so that nothing is missing for an automatic top-up.
    hasPaymentMethod: true,
  };
}

/** The plan that an account may spend under right now, or null. */
export function activePlan(account: Account): Plan | null {
  if (account.plan_slug === null || account.spend_until === null || account.spend_until <= now()) return null;
  return planBySlug(account.plan_slug);
}

/**
 * Keyless checkout: activates a plan at once, with its first month's credits, or switches to it at once.
 * @throws ServiceError validation_error when the account is on that plan already.
 */
export async function activatePlan(accountId: number, slug: PlanSlug): Promise<void> {
  const plan = planBySlug(slug);
  await Account.transaction(async (transaction) => {
    const account = await lockAccount(transaction, accountId);
    const live = await Subscription.query(transaction).modify('live').findOne({ account_id: accountId });
    if (live !== undefined && live.current_period_end > now()) {
      await switchPlan(transaction, account, live, plan);
      return;
    }
    const free = live === undefined ? account : await endSubscription(transaction, account, live);
    await startSubscription(transaction, free, plan);
  });
}

/** Ends a subscription whose paid time is over. Plan credits end with it; top-up credits stay. */
async function endSubscription(transaction: Transaction, account: Account, ended: Subscription): Promise<Account> {
  await ended.$query(transaction).patch({ status: 'canceled' });
  const left = account.plan_credits;
  const expiry = {
    entryType: 'expiry' as const,
    amount: -left,
    planAmount: -left,
    description: 'Plan credits expired with the subscription',
    effectKey: `expiry:${ended.uuid}:end`,
  };
  const none = { plan_slug: null, spend_until: null, parallel_limit: 0 };
  return moveCredits(transaction, account, left > 0 ? [expiry] : [], none);
}

async function startSubscription(transaction: Transaction, account: Account, plan: Plan): Promise<void> {
  const startedAt = now();
  const paidUntil = addMonths(startedAt, 12);
  const subscription = await Subscription.query(transaction).insertAndFetch({
    uuid: uuidv7(),
    account_id: account.id,
    plan_slug: plan.slug,
    status: 'active',
    processor: PROCESSOR,
    started_at: startedAt,
    current_period_end: paidUntil,
    created_at: startedAt,
  });
  const grant = {
    entryType: 'grant' as const,
    amount: plan.monthlyCredits,
    planAmount: plan.monthlyCredits,
    description: `Monthly credits: ${plan.name} plan`,
    effectKey: `grant:${subscription.uuid}:0`,
  };
  await moveCredits(transaction, account, [grant], {
    plan_slug: plan.slug,
    spend_until: paidUntil,
    parallel_limit: plan.parallelLimit,
    period_index: 0,
    period_start: startedAt,
    period_end: addMonths(startedAt, 1),
    period_granted: plan.monthlyCredits,
    period_rollover: 0,
    period_used: 0,
  });
}

/**
 * An upgrade fills this month's grant up to the new plan's, counted against what the month was granted already, so
 * that going up, down and up again grants nothing twice.
 */
async function switchPlan(transaction: Transaction, account: Account, live: Subscription, plan: Plan): Promise<void> {
  if (live.plan_slug === plan.slug) {
    throw new ServiceError('validation_error', `plan: the account is on the ${plan.name} plan already.`);
  }
  await live.$query(transaction).patch({ plan_slug: plan.slug });
  const missing = Math.max(0, plan.monthlyCredits - account.period_granted);
  const difference = {
    entryType: 'grant' as const,
    amount: missing,
    planAmount: missing,
    description: `Upgrade to the ${plan.name} plan: rest of this month's credits`,
    effectKey: `grant:${live.uuid}:${account.period_index}:${plan.slug}`,
  };
  await moveCredits(transaction, account, missing > 0 ? [difference] : [], {
    plan_slug: plan.slug,
    parallel_limit: plan.parallelLimit,
    period_granted: account.period_granted + missing,
  });
}
