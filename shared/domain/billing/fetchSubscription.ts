import {
  type InvoiceReversals,
  processor,
  ProcessorError,
  type ProcessorSubscription,
  type ReviewedInvoice,
  type SubscriptionInvoice,
} from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { DAY_MS } from '../../spec/durations.ts';
import type { PlanSlug } from '../../spec/plans.ts';
import { Account } from '../../tables/Account.ts';
import { Subscription } from '../../tables/Subscription.ts';
import {
  type AccountSnapshot,
  findCustomerAccount,
  nextSyncVersion,
  type UnresolvedSnapshot,
} from '../payments/accountSnapshot.ts';
import { findPaidPlan } from './planHistory.ts';

/** The state of a subscription at the processor, including its refunds and disputes. */
export interface SubscriptionSnapshot extends AccountSnapshot, ReversalResolution {
  kind: 'subscription';
  syncVersion: number;
  hasPaymentMethod: boolean;
  /** True if the account's other live subscription was synced just before this one. */
  isOtherSynced: boolean;
}

/** A subscription that the processor no longer has. */
export interface MissingSubscriptionSnapshot extends AccountSnapshot {
  kind: 'missingSubscription';
  subscriptionRowId: number;
  syncVersion: number;
}

const UNKNOWN_PRICE = 'The price of the subscription is not in STRIPE_PRICE_*.';

export interface SubscriptionSyncOptions {
  isOtherSynced?: boolean;
}

/**
 * Reads a subscription at the processor. The whole state is read each time, whatever the cause, so that the order of
 * events and their repetition do not matter.
 * @returns null if the subscription does not belong to an account of this service.
 */
export async function fetchSubscription(
  subscriptionId: string,
  options: SubscriptionSyncOptions = {},
): Promise<SubscriptionSnapshot | MissingSubscriptionSnapshot | UnresolvedSnapshot | null> {
  const syncVersion = await nextSyncVersion();
  const known = await Subscription.query().findOne({ stripe_subscription_id: subscriptionId });
  const fetched = await processor.readSubscription(subscriptionId);
  if (fetched === null) {
    if (known === undefined || processor.isSimulated) return null;
    const { id, account_id: accountId } = known;
    logger.error({ subscriptionId, accountId }, 'subscription not found at the processor');
    return { kind: 'missingSubscription', accountId, problem: null, subscriptionRowId: id, syncVersion };
  }
  // A customer that was deleted and recreated at the processor has another id: a known subscription keeps its account.
  const account =
    known === undefined
      ? await findCustomerAccount({ ...fetched, isForPlan: fetched.plan !== null })
      : await Account.query().findById(known.account_id);
  if (account === undefined) return null;
  if (fetched.plan === null) {
    logger.error({ subscriptionId, accountId: account.id }, 'subscription has a price that belongs to no plan');
    if (known === undefined) return { kind: 'unresolved', accountId: account.id, problem: UNKNOWN_PRICE };
  }
  const resolution = await resolveReversals(fetched);
  return {
    ...resolution,
    kind: 'subscription',
    accountId: account.id,
    problem: resolution.subscription.plan === null ? UNKNOWN_PRICE : null,
    syncVersion,
    hasPaymentMethod: (await processor.findPaymentMethod(fetched.customerId)) !== null,
    isOtherSynced: options.isOtherSynced === true,
  };
}

/** A subscription with what was returned of its payments, after the consequences at the processor. */
interface ReversalResolution {
  subscription: ProcessorSubscription;
  /** Its paid invoices, newest first. */
  invoices: ReviewedInvoice[];
  /** A charge of the running year with an open dispute. */
  disputedChargeId: string | null;
  /** The plan of an upgrade of the running year that was returned. */
  refundedUpgrade: PlanSlug | null;
}

const NO_REVERSALS: InvoiceReversals = { returnedCents: 0, reversedCents: 0, returnedAt: null, openDispute: null };

/** The renewal is held back from this long before the end of a year that is being disputed. */
const RENEWAL_HOLD_MS = 3 * DAY_MS;

/**
 * Reads what was returned of each paid invoice, by refunds and lost disputes, and applies the consequences at the
 * processor: a year of which nothing paid is left ends; a returned upgrade reverts to the plan that is still paid, at the
 * price that the customer had; and the card is not charged for another year while this one is disputed.
 */
async function resolveReversals(fetched: ProcessorSubscription): Promise<ReversalResolution> {
  const invoices = await readReversals(fetched.invoices);
  const current = invoices.filter(({ paidUntil }) => paidUntil > now());
  const paidCents = current.reduce((sum, invoice) => sum + invoice.paidCents, 0);
  const returnedCents = current.reduce((sum, invoice) => sum + invoice.returnedCents, 0);
  const disputedChargeId = current.find(({ openDispute }) => openDispute !== null)?.openDispute ?? null;
  const upgrade = current.find(({ plan, isAnnual, returnedAt }) => plan !== null && !isAnnual && returnedAt !== null);
  const isChanged =
    fetched.status !== 'canceled' &&
    (returnedCents > 0 && returnedCents >= paidCents
      ? await cancel(fetched)
      : [await revertReturnedPlan(fetched, current), await holdRenewal(fetched, disputedChargeId)].includes(true));
  const subscription = isChanged ? ((await processor.readSubscription(fetched.id)) ?? fetched) : fetched;
  const paid = findPaidPlan(current);
  const refundedUpgrade = upgrade !== undefined && paid?.plan !== upgrade.plan ? upgrade.plan : null;
  return { subscription, invoices, disputedChargeId, refundedUpgrade };
}

async function readReversals(invoices: SubscriptionInvoice[]): Promise<ReviewedInvoice[]> {
  const reviewed: ReviewedInvoice[] = [];
  for (const invoice of invoices) {
    const reversals = invoice.paidCents > 0 ? await processor.readReversals(invoice) : NO_REVERSALS;
    reviewed.push({ ...invoice, ...reversals });
  }
  return reviewed;
}

async function cancel({ id }: ProcessorSubscription): Promise<true> {
  await processor.cancelSubscription(id);
  return true;
}

/** Switches from a plan whose payment was returned to the one that is still paid. @returns whether it was changed. */
async function revertReturnedPlan(subscription: ProcessorSubscription, current: ReviewedInvoice[]): Promise<boolean> {
  // The customer may be paying for the upgrade again: changing the plan now would undo that.
  if (!subscription.isLatestInvoicePaid) return false;
  const paid = findPaidPlan(current);
  const isReturned = current.some(({ plan, returnedAt }) => plan === subscription.plan && returnedAt !== null);
  if (paid?.priceId == null || paid.plan === subscription.plan || !isReturned) return false;
  const context = { subscriptionId: subscription.id, from: subscription.plan, to: paid.plan, priceId: paid.priceId };
  try {
    await processor.changePrice(subscription.id, paid.priceId);
    logger.warn(context, 'upgrade returned; subscription reverted to the paid plan');
    return true;
  } catch (err) {
    if (!(err instanceof ProcessorError) || err.fault !== 'rejected') throw err;
    logger.error({ err, ...context }, 'upgrade returned, but the plan could not be reverted');
    return false;
  }
}

/**
 * Stops the renewal of a year that is disputed shortly before its end, and resumes it once the dispute has ended. A
 * renewal that the customer or a deletion has stopped stays stopped.
 * @returns whether the subscription was changed.
 */
async function holdRenewal(subscription: ProcessorSubscription, disputedChargeId: string | null): Promise<boolean> {
  const { id, isRenewalHeld, cancelAtPeriodEnd, currentPeriodEnd } = subscription;
  const mustHold = disputedChargeId !== null && currentPeriodEnd <= addMilliseconds(now(), RENEWAL_HOLD_MS);
  if (mustHold ? cancelAtPeriodEnd : !isRenewalHeld) return false;
  await processor.setRenewalHeld(id, mustHold);
  logger.warn({ subscriptionId: id, disputedChargeId }, mustHold ? 'renewal held: disputed' : 'held renewal resumed');
  return true;
}
