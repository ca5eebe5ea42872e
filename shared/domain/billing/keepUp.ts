import { processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { PAST_DUE_DAYS } from '../../spec/limits.ts';
import { Account } from '../../tables/Account.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { lockAccount } from '../credits.ts';
import { attempt } from './effects.ts';
import { end, renewUntil } from './lifecycle.ts';
import { settleOwedRefunds } from './owedRefunds.ts';
import { settlePendingTopups } from './pendingTopups.ts';
import { followUpOnDue, subscriptionEffect } from './syncSubscription.ts';

const DAY_MS = 86_400_000;
/** What was looked at within a minute is not looked at again. */
const FRESH_MS = 60_000;
const AT_ONCE = 200;

/** What is due by the clock alone, and does not wait for the processor to say so. */
export async function keepBillingUp(): Promise<void> {
  await settlePendingTopups();
  await endGivenAway();
  await followUpOnDue();
  await settleOwedRefunds();
  await endOverdue();
  await lookAtPassed();
}

/** A year that nobody paid for is not renewed. */
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
      // The months of its last year may not have been granted yet: everything was down.
      const renewed = await renewUntil(transaction, account, live, now());
      await end(transaction, renewed, await live.$query(transaction).patchAndFetch({ status: 'canceled' }));
    });
  }
}

/** Past due for too long: ended there, and so here. */
async function endOverdue(): Promise<void> {
  const lapsed = addMilliseconds(now(), -PAST_DUE_DAYS * DAY_MS);
  const overdue = await Subscription.query()
    .where({ status: 'past_due' })
    .where('past_due_since', '<=', lapsed)
    .limit(AT_ONCE);
  for (const { stripe_subscription_id: id } of overdue) {
    // It may have been paid, and nobody has told us.
    const isSeen = await attempt(() => subscriptionEffect(id as string));
    const current = await Subscription.query().findOne({ stripe_subscription_id: id, status: 'past_due' });
    const isOver = current?.past_due_since != null && current.past_due_since <= lapsed;
    if (!isSeen || !isOver) continue;
    await attempt(async () => {
      // A bank may be at it still.
      if (await processor.isBeingPaid(id as string)) return null;
      await processor.cancelSubscription(id as string);
      return subscriptionEffect(id as string);
    });
  }
}

/** Renewed or ended, and nobody has told us. */
async function lookAtPassed(): Promise<void> {
  const passed = await Subscription.query()
    .where({ status: 'active' })
    .whereNotNull('stripe_subscription_id')
    .where('current_period_end', '<=', now())
    .where((old) => {
      void old.whereNull('synced_at').orWhere('synced_at', '<=', addMilliseconds(now(), -FRESH_MS));
    })
    .limit(AT_ONCE);
  for (const { stripe_subscription_id: id } of passed) await attempt(() => subscriptionEffect(id as string));
}
