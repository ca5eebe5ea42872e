import { processor, ProcessorError, requireProcessor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { PAST_DUE_DAYS } from '../../spec/limits.ts';
import { Account } from '../../tables/Account.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { Topup } from '../../tables/Topup.ts';
import { lockAccount } from '../credits.ts';
import { charge } from './autoTopups.ts';
import { carryOut, type Effect, takeTicket } from './effects.ts';
import { end } from './lifecycle.ts';
import { intentEffect } from './paymentEvents.ts';
import { subscriptionEffect } from './syncSubscription.ts';
import { failedEffect } from './topups.ts';

const DAY_MS = 86_400_000;
/** How far back the processor is asked for what it may have told us in vain. */
const LOOK_BACK_MS = 3 * DAY_MS;
/** Every subscription is looked at so often, whether or not anything is heard of it. */
const SUBSCRIPTION_STALE_MS = DAY_MS;
/** A top-up is left to those who began it for so long. */
const TOPUP_GRACE_MS = 60_000;
/** The processor forgets what was asked under a key after a day: a charge is not repeated then any more. */
const CHARGE_AGAIN_MS = 23 * 3_600_000;
const AT_ONCE = 200;

/** Asks the processor for what never arrived: subscriptions and payments of the last days. */
export async function reconcilePayments(): Promise<void> {
  if (processor === null) return;
  const since = addMilliseconds(now(), -LOOK_BACK_MS);
  for await (const id of processor.subscriptionsSince(since)) await attempt(() => subscriptionEffect(id));
  for await (const id of processor.paymentsSince(since)) await attempt(() => intentEffect(id));
  const stale = await Subscription.query()
    .whereNotNull('stripe_subscription_id')
    .whereIn('status', ['active', 'past_due', 'unpaid', 'incomplete'])
    .where((old) => {
      void old.whereNull('synced_at').orWhere('synced_at', '<=', addMilliseconds(now(), -SUBSCRIPTION_STALE_MS));
    })
    .orderBy('synced_at')
    .limit(AT_ONCE);
  for (const { stripe_subscription_id: id } of stale) await attempt(() => subscriptionEffect(id as string));
}

/** What is due by the clock alone, and does not wait for the processor to say so. */
export async function keepBillingUp(): Promise<void> {
  await settlePendingTopups();
  await endGivenAway();
  if (processor === null) return;
  const lapsed = addMilliseconds(now(), -PAST_DUE_DAYS * DAY_MS);
  const overdue = await Subscription.query()
    .where({ status: 'past_due' })
    .where('past_due_since', '<=', lapsed)
    .limit(AT_ONCE);
  for (const { stripe_subscription_id: id } of overdue) {
    // It may have been paid, and nobody has told us.
    await attempt(() => subscriptionEffect(id as string));
    const current = await Subscription.query().findOne({ stripe_subscription_id: id, status: 'past_due' });
    if (current === undefined || current.past_due_since === null || current.past_due_since > lapsed) continue;
    await attempt(async () => {
      await requireProcessor().cancelSubscription(id as string);
      return subscriptionEffect(id as string);
    });
  }
  // Renewed or ended, and nobody has told us.
  const passed = await Subscription.query()
    .where({ status: 'active' })
    .whereNotNull('stripe_subscription_id')
    .where('current_period_end', '<=', now())
    .where((old) => {
      void old.whereNull('synced_at').orWhere('synced_at', '<=', addMilliseconds(now(), -TOPUP_GRACE_MS));
    })
    .limit(AT_ONCE);
  for (const { stripe_subscription_id: id } of passed) await attempt(() => subscriptionEffect(id as string));
}

/** Without a processor a year that is over is not renewed. */
async function endGivenAway(): Promise<void> {
  const over = await Subscription.query()
    .modify('live')
    .whereNull('stripe_subscription_id')
    .where('current_period_end', '<=', now())
    .limit(AT_ONCE);
  for (const { id, account_id: accountId } of over) {
    await Account.transaction(async (transaction) => {
      const account = await lockAccount(transaction, accountId);
      const live = await Subscription.query(transaction).modify('live').findById(id);
      if (live === undefined) return;
      await end(transaction, account, await live.$query(transaction).patchAndFetch({ status: 'canceled' }));
    });
  }
}

async function pendingTopups(kind: Topup['kind']): Promise<Topup[]> {
  return Topup.query()
    .where({ status: 'pending', kind })
    .where('created_at', '<=', addMilliseconds(now(), -TOPUP_GRACE_MS))
    .orderBy('created_at')
    .limit(AT_ONCE);
}

async function settlePendingTopups(): Promise<void> {
  // Apart: pages that nobody pays on are many, and must not keep charges from being settled.
  for (const topup of [...(await pendingTopups('automatic')), ...(await pendingTopups('manual'))]) {
    const isFresh = topup.created_at > addMilliseconds(now(), -CHARGE_AGAIN_MS);
    await attempt(async () => {
      if (topup.kind !== 'automatic' || !isFresh) return pendingEffect(topup);
      await charge(topup);
      return null;
    });
  }
}

async function pendingEffect(topup: Topup): Promise<Effect | null> {
  const ticket = await takeTicket();
  if (topup.stripe_payment_intent_id !== null) return intentEffect(topup.stripe_payment_intent_id);
  if (topup.stripe_session_id !== null) {
    const session = await requireProcessor().readSession(topup.stripe_session_id);
    if (session?.intentId != null) return intentEffect(session.intentId);
    return session === null || session.isExpired ? failedEffect(topup, 'canceled', ticket) : null;
  }
  // Nobody was ever asked to pay it; or a charge of which nothing is known for so long that it would have been found.
  const isOld = topup.created_at < addMilliseconds(now(), topup.kind === 'manual' ? -DAY_MS : -LOOK_BACK_MS);
  return isOld ? failedEffect(topup, 'canceled', ticket) : null;
}

/** One that fails does not keep the others from being looked at. */
async function attempt(look: () => Promise<Effect | null>): Promise<void> {
  try {
    const effect = await look();
    if (effect !== null) await carryOut(effect);
  } catch (error) {
    const level = error instanceof ProcessorError ? 'warn' : 'error';
    logger[level]({ error: (error as Error).message }, 'not reconciled; will be looked at again');
  }
}
