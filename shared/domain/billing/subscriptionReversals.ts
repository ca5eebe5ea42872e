import {
  type InvoiceReversals,
  ProcessorError,
  type ProcessorSubscription,
  processor,
  type SubscriptionInvoice,
} from '../../gateways/payments/index.ts';
import { now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import type { PlanSlug } from '../../spec/plans.ts';

/** The refunds and disputes of a subscription's running year, after their consequences at the processor. */
export interface ReversalResolution {
  /** The subscription after the consequences. */
  subscription: ProcessorSubscription;
  /** A charge of the running year with an open or lost dispute. */
  disputedChargeId: string | null;
  /** The plan of an upgrade that was refunded. */
  refundedUpgrade: PlanSlug | null;
  /** The refunded amounts of the invoices of the running year, by invoice. */
  refundedCents: ReadonlyMap<string, number>;
}

type InvoiceWithReversals = SubscriptionInvoice & InvoiceReversals;

const NO_REVERSALS: InvoiceReversals = { refundedCents: 0, openDispute: null, lostDispute: null };

/**
 * Reads the refunds and disputes of all paid invoices of the running year and applies their consequences at the
 * processor. A lost dispute, or a refund of everything that was paid, cancels the subscription. A refunded upgrade
 * reverts to the plan that is still paid.
 */
export async function resolveReversals(subscription: ProcessorSubscription): Promise<ReversalResolution> {
  if (subscription.status === 'canceled')
    return { subscription, disputedChargeId: null, refundedUpgrade: null, refundedCents: new Map() };
  const currentInvoices = await readReversalsOfCurrentYear(subscription);
  const refunds = new Map(currentInvoices.map(({ id, refundedCents: cents }) => [id, cents]));
  const lostDisputeChargeId = currentInvoices.find(({ lostDispute }) => lostDispute !== null)?.lostDispute ?? null;
  const openDisputeChargeId = currentInvoices.find(({ openDispute }) => openDispute !== null)?.openDispute ?? null;
  const disputedChargeId = lostDisputeChargeId ?? openDisputeChargeId;
  const refundedCents = currentInvoices.reduce((sum, invoice) => sum + invoice.refundedCents, 0);
  const paidCents = currentInvoices.reduce((sum, invoice) => sum + invoice.paidCents, 0);
  if (lostDisputeChargeId !== null || (refundedCents > 0 && refundedCents >= paidCents)) {
    await processor.cancelSubscription(subscription.id);
    return {
      subscription: await rereadSubscription(subscription),
      disputedChargeId,
      refundedUpgrade: null,
      refundedCents: refunds,
    };
  }
  const upgrade = findRefundedUpgrade(currentInvoices);
  if (upgrade === null) return { subscription, disputedChargeId, refundedUpgrade: null, refundedCents: refunds };
  const isReverted = await revertRefundedUpgrade(subscription, upgrade, currentInvoices);
  return {
    subscription: isReverted ? await rereadSubscription(subscription) : subscription,
    disputedChargeId,
    refundedUpgrade: upgrade.plan,
    refundedCents: refunds,
  };
}

/** Returns the invoices of the running year with their reversals, newest first. */
async function readReversalsOfCurrentYear({ invoices }: ProcessorSubscription): Promise<InvoiceWithReversals[]> {
  const reviewed: InvoiceWithReversals[] = [];
  for (const invoice of invoices.filter(({ paidUntil }) => paidUntil > now())) {
    const reversals = invoice.paidCents > 0 ? await processor.readReversals(invoice) : NO_REVERSALS;
    reviewed.push({ ...invoice, ...reversals });
  }
  return reviewed;
}

/** Returns the last upgrade if its whole amount was refunded and no other plan change followed. */
function findRefundedUpgrade(currentInvoices: InvoiceWithReversals[]): InvoiceWithReversals | null {
  const last = currentInvoices.find(({ plan }) => plan !== null);
  if (last === undefined || last.isAnnual || last.paidCents === 0) return null;
  return last.refundedCents >= last.paidCents ? last : null;
}

/** Switches from a refunded upgrade to the plan that is still paid. @returns whether the plan was changed. */
async function revertRefundedUpgrade(
  subscription: ProcessorSubscription,
  upgrade: InvoiceWithReversals,
  currentInvoices: InvoiceWithReversals[],
): Promise<boolean> {
  // The customer may be paying for the upgrade again: changing the plan now would undo that.
  if (!subscription.isLatestInvoicePaid) return false;
  const isKept = ({ paidCents, refundedCents }: InvoiceWithReversals) => paidCents === 0 || refundedCents < paidCents;
  const paidPlan = currentInvoices.find((invoice) => invoice.plan !== null && isKept(invoice))?.plan ?? null;
  if (paidPlan === null || subscription.plan !== upgrade.plan || paidPlan === subscription.plan) return false;
  const context = { subscriptionId: subscription.id, invoiceId: upgrade.id, from: upgrade.plan, to: paidPlan };
  try {
    await processor.changePlan(subscription.id, paidPlan);
    logger.warn(context, 'upgrade refunded; subscription reverted to the paid plan');
    return true;
  } catch (err) {
    if (!(err instanceof ProcessorError) || err.fault !== 'rejected') throw err;
    logger.error({ err, ...context }, 'upgrade refunded, but the plan could not be reverted');
    return false;
  }
}

async function rereadSubscription(subscription: ProcessorSubscription): Promise<ProcessorSubscription> {
  return (await processor.readSubscription(subscription.id)) ?? subscription;
}
