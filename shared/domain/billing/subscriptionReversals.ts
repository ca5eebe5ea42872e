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

/** What has become of the money of a subscription's running year. */
export interface ReversalResolution {
  /** The subscription after what follows from the money was done at the processor. */
  snapshot: ProcessorSubscription;
  /** A charge of the running year whose dispute is open or lost. */
  disputedChargeId: string | null;
  /** The plan of an upgrade that was refunded. */
  refundedUpgrade: PlanSlug | null;
}

type InvoiceWithReversals = SubscriptionInvoice & InvoiceReversals;

const NO_REVERSALS: InvoiceReversals = { refundedCents: 0, openDispute: null, lostDispute: null };

/**
 * Reads the refunds and disputes of all paid invoices of the running year, each time, and does what follows from them
 * at the processor. A lost dispute, or refunds of all that was paid, end the subscription. An upgrade that was refunded
 * falls back to the plan that is still paid.
 */
export async function resolveReversals(snapshot: ProcessorSubscription): Promise<ReversalResolution> {
  if (snapshot.status === 'canceled') return { snapshot, disputedChargeId: null, refundedUpgrade: null };
  const currentInvoices = await readReversalsOfCurrentYear(snapshot);
  const lostDisputeChargeId = currentInvoices.find(({ lostDispute }) => lostDispute !== null)?.lostDispute ?? null;
  const openDisputeChargeId = currentInvoices.find(({ openDispute }) => openDispute !== null)?.openDispute ?? null;
  const disputedChargeId = lostDisputeChargeId ?? openDisputeChargeId;
  const refundedCents = currentInvoices.reduce((sum, invoice) => sum + invoice.refundedCents, 0);
  const paidCents = currentInvoices.reduce((sum, invoice) => sum + invoice.paidCents, 0);
  if (lostDisputeChargeId !== null || (refundedCents > 0 && refundedCents >= paidCents)) {
    await processor.cancelSubscription(snapshot.id);
    return { snapshot: await rereadSubscription(snapshot), disputedChargeId, refundedUpgrade: null };
  }
  const upgrade = findRefundedUpgrade(currentInvoices);
  if (upgrade === null) return { snapshot, disputedChargeId, refundedUpgrade: null };
  const isReverted = await revertRefundedUpgrade(snapshot, upgrade, currentInvoices);
  return {
    snapshot: isReverted ? await rereadSubscription(snapshot) : snapshot,
    disputedChargeId,
    refundedUpgrade: upgrade.plan,
  };
}

/** The paid invoices of the running year, newest first. */
async function readReversalsOfCurrentYear({ invoices }: ProcessorSubscription): Promise<InvoiceWithReversals[]> {
  const reviewed: InvoiceWithReversals[] = [];
  for (const invoice of invoices.filter(({ paidUntil }) => paidUntil > now())) {
    const reversals = invoice.paidCents > 0 ? await processor.readReversals(invoice) : NO_REVERSALS;
    reviewed.push({ ...invoice, ...reversals });
  }
  return reviewed;
}

/** The last upgrade, if all that was paid for it was refunded, and no other change of plan followed. */
function findRefundedUpgrade(currentInvoices: InvoiceWithReversals[]): InvoiceWithReversals | null {
  const last = currentInvoices.find(({ plan }) => plan !== null);
  if (last === undefined || last.isAnnual || last.paidCents === 0) return null;
  return last.refundedCents >= last.paidCents ? last : null;
}

/** Switches from a refunded upgrade to the plan that is still paid. @returns whether something was changed. */
async function revertRefundedUpgrade(
  snapshot: ProcessorSubscription,
  upgrade: InvoiceWithReversals,
  currentInvoices: InvoiceWithReversals[],
): Promise<boolean> {
  // The upgrade may be being paid again: a change of the plan now would take away what is asked for.
  if (!snapshot.isLatestInvoicePaid) return false;
  const isKept = ({ paidCents, refundedCents }: InvoiceWithReversals) => paidCents === 0 || refundedCents < paidCents;
  const paidPlan = currentInvoices.find((invoice) => invoice.plan !== null && isKept(invoice))?.plan ?? null;
  if (paidPlan === null || snapshot.plan !== upgrade.plan || paidPlan === snapshot.plan) return false;
  const context = { subscriptionId: snapshot.id, invoiceId: upgrade.id, from: upgrade.plan, to: paidPlan };
  try {
    await processor.changePlan(snapshot.id, paidPlan);
    logger.warn(context, 'an upgrade was refunded: the subscription falls back to the plan that is paid');
    return true;
  } catch (error) {
    if (!(error instanceof ProcessorError) || error.fault !== 'refused') throw error;
    logger.error({ ...context, error: error.message }, 'an upgrade was refunded, and the plan cannot be changed back');
    return false;
  }
}

async function rereadSubscription(snapshot: ProcessorSubscription): Promise<ProcessorSubscription> {
  return (await processor.readSubscription(snapshot.id)) ?? snapshot;
}
