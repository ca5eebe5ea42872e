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
import { findPaidPlan, isPlanReturned } from './planHistory.ts';

/** A subscription with what was returned of its payments, after the consequences at the processor. */
export interface ReversalResolution {
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
 * processor: a year of which nothing paid is left ends; a returned upgrade reverts to the plan that is still paid, at
 * the price that the customer had; and the card is not charged for another year while this one is disputed.
 * @param isDeleting whether the account is being deleted, whose renewal stays as it is: stopped, or held.
 */
export async function resolveReversals(
  fetched: ProcessorSubscription,
  isDeleting: boolean,
): Promise<ReversalResolution> {
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
      : [
          await revertReturnedPlan(fetched, current),
          !isDeleting && (await holdRenewal(fetched, disputedChargeId)),
        ].includes(true));
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
  // The customer may be paying for the upgrade again: changing the plan now would undo that. A plan that applies from
  // the renewal on is not one of this year.
  if (!subscription.isLatestInvoicePaid || subscription.priceFrom > now()) return false;
  const paid = findPaidPlan(current);
  const isReturned = isPlanReturned(current, subscription.plan);
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
