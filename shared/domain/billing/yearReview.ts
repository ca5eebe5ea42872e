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
export interface YearReview {
  /** The subscription after what follows from the money was done at the processor. */
  snapshot: ProcessorSubscription;
  /** A charge of the running year whose dispute is open or lost. */
  disputedChargeId: string | null;
  /** The plan of an upgrade that was refunded. */
  refundedUpgrade: PlanSlug | null;
}

type Reviewed = SubscriptionInvoice & InvoiceReversals;

const NOTHING_REVERSED: InvoiceReversals = { refundedCents: 0, openDispute: null, lostDispute: null };

/**
 * Reads the refunds and disputes of all paid invoices of the running year, each time, and does what follows from them
 * at the processor. A lost dispute, or refunds of all that was paid, end the subscription. An upgrade that was refunded
 * falls back to the plan that is still paid.
 */
export async function reviewYear(snapshot: ProcessorSubscription): Promise<YearReview> {
  if (snapshot.status === 'canceled') return { snapshot, disputedChargeId: null, refundedUpgrade: null };
  const running = await reviewedInvoices(snapshot);
  const lost = running.find(({ lostDispute }) => lostDispute !== null)?.lostDispute ?? null;
  const open = running.find(({ openDispute }) => openDispute !== null)?.openDispute ?? null;
  const disputedChargeId = lost ?? open;
  const refundedCents = running.reduce((sum, invoice) => sum + invoice.refundedCents, 0);
  const paidCents = running.reduce((sum, invoice) => sum + invoice.totalCents, 0);
  if (lost !== null || (refundedCents > 0 && refundedCents >= paidCents)) {
    await processor.cancelSubscription(snapshot.id);
    return { snapshot: await readAgain(snapshot), disputedChargeId, refundedUpgrade: null };
  }
  const upgrade = refundedUpgradeIn(running);
  if (upgrade === null) return { snapshot, disputedChargeId, refundedUpgrade: null };
  const isFallenBack = await fallBack(snapshot, upgrade, running);
  return {
    snapshot: isFallenBack ? await readAgain(snapshot) : snapshot,
    disputedChargeId,
    refundedUpgrade: upgrade.plan,
  };
}

/** The paid invoices of the running year, newest first. */
async function reviewedInvoices({ invoices }: ProcessorSubscription): Promise<Reviewed[]> {
  const reviewed: Reviewed[] = [];
  for (const invoice of invoices.filter(({ paidUntil }) => paidUntil > now())) {
    const reversals = invoice.totalCents > 0 ? await processor.readReversals(invoice) : NOTHING_REVERSED;
    reviewed.push({ ...invoice, ...reversals });
  }
  return reviewed;
}

/** The last upgrade, if all of it was refunded. */
function refundedUpgradeIn(running: Reviewed[]): Reviewed | null {
  const last = running.find(({ plan, totalCents }) => plan !== null && totalCents > 0);
  return last !== undefined && !last.isYear && last.refundedCents >= last.totalCents ? last : null;
}

/** Switches from a refunded upgrade to the plan that is still paid. @returns whether something was changed. */
async function fallBack(snapshot: ProcessorSubscription, upgrade: Reviewed, running: Reviewed[]): Promise<boolean> {
  const isKept = ({ totalCents, refundedCents }: Reviewed) => totalCents === 0 || refundedCents < totalCents;
  const paidPlan = running.find((invoice) => invoice.plan !== null && isKept(invoice))?.plan ?? null;
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

async function readAgain(snapshot: ProcessorSubscription): Promise<ProcessorSubscription> {
  return (await processor.readSubscription(snapshot.id)) ?? snapshot;
}
