import { processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { Account } from '../../tables/Account.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { Topup } from '../../tables/Topup.ts';
import { type AccountSnapshot, applySnapshot, nextSyncVersion } from '../payments/accountSnapshot.ts';
import { syncSubscription } from './syncSubscription.ts';
import { buildFailedTopup, findTopupSnapshot } from './topupPayments.ts';
import { CHECKOUT_SESSION_MS } from './topups.ts';
import { DAY_MS } from '../../spec/durations.ts';

/** A page of the portal can be used this long after it was opened. */
const PORTAL_PAGE_MS = DAY_MS;

/** Records, before a page is opened on which the plan can be changed, that a change may have no event yet. */
export async function recordPortalPage(accountId: number): Promise<void> {
  await Account.query().findById(accountId).patch({ portal_opened_at: now() });
}

/**
 * Syncs what the customer may have paid without an event so far: open pages of top-ups, a change of plan, and a
 * renewal. Must precede an automatic charge, so that the card is not charged for credits that are paid already.
 * @throws ProcessorError if the processor cannot be asked.
 */
export async function syncPurchases(accountId: number): Promise<void> {
  const pages = await Topup.query()
    .where({ account_id: accountId, kind: 'manual', status: 'pending' })
    .whereNotNull('stripe_session_id');
  const subscriptionId = await findUnseenSubscription(accountId);
  await Promise.all([
    ...pages.map(async (topup) => applySnapshot(await fetchCheckoutTopup(topup))),
    subscriptionId === null ? undefined : syncSubscription(subscriptionId),
  ]);
}

/** Returns the id of the account's subscription if it may have been paid since its last sync. */
async function findUnseenSubscription(accountId: number): Promise<string | null> {
  const at = now();
  const { subscription_id: id, portal_opened_at: openedAt } = await Account.query()
    .findById(accountId)
    .throwIfNotFound();
  const subscription = id === null ? undefined : await Subscription.query().findById(id);
  if (subscription === undefined) return null;
  const mayHaveChanged = openedAt !== null && openedAt > addMilliseconds(at, -PORTAL_PAGE_MS);
  return mayHaveChanged || subscription.paid_until <= at ? subscription.stripe_subscription_id : null;
}

/** Reads what was paid on the page of a top-up. @returns null while nothing was paid on it and something may be. */
export async function fetchCheckoutTopup(topup: Topup): Promise<AccountSnapshot | null> {
  const syncVersion = await nextSyncVersion();
  const { stripe_session_id: sessionId, stripe_payment_intent_id: knownIntentId, created_at: createdAt } = topup;
  if (sessionId === null && knownIntentId === null) {
    const isExpired = createdAt <= addMilliseconds(now(), -CHECKOUT_SESSION_MS);
    return isExpired ? buildFailedTopup(topup, 'canceled', syncVersion) : null;
  }
  // A top-up that was recorded from its payment has no page.
  const session = sessionId === null ? null : await processor.readCheckoutSession(sessionId);
  const intentId = session?.intentId ?? knownIntentId;
  const payment = intentId === null ? null : await processor.readPayment(intentId);
  if (payment !== null && payment.status !== 'failed') return findTopupSnapshot(payment, syncVersion);
  if (session?.isFree === true) return buildFailedTopup(topup, 'nothing_paid', syncVersion);
  // While the page is open, another card may be tried.
  return session?.mayBePaid === true ? null : buildFailedTopup(topup, 'canceled', syncVersion);
}
