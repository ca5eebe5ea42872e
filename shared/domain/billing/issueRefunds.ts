import { type ChargeRefundOutcome, processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { DAY_MS, HOUR_MS } from '../../spec/durations.ts';
import { OwedRefund } from '../../tables/OwedRefund.ts';
import { applySnapshot, nextSyncVersion } from '../payments/accountSnapshot.ts';
import type { TaskKind } from '../tasks/taskKind.ts';
import { syncInvoiceReversals } from './invoices.ts';
import { findTopup } from './owedRefunds.ts';
import { PROCESSOR_TASK, REFUND_KIND } from './processorTasks.ts';
import { buildRefundedTopup, findTopupSnapshot } from './topupPayments.ts';

/** After this many attempts, an amount that the processor does not list was not paid through it. */
const INCOMPLETE_ATTEMPTS = 3;
/** Reasons for which staff have to pay the customer back by hand. */
const REJECTION_REASONS = {
  refused: 'The processor does not refund a charge that was disputed.',
  incomplete: 'Only a part of the invoice was paid through the processor, and only that part is refunded.',
};

/** Refunds what is left of a payment. The processor refunds a payment once. */
export const ISSUE_REFUND: TaskKind = {
  ...PROCESSOR_TASK,
  name: REFUND_KIND,
  waiting: `SELECT account_id, key FROM owed_refunds WHERE status = 'owed'`,
  run: async ([{ key, attempts }]) => {
    const owed = await OwedRefund.query().findById(key).where({ status: 'owed' });
    if (owed === undefined) return undefined;
    const { invoice_id: invoiceId } = owed;
    // A simulated subscription has no invoice at the processor, which may be configured again.
    if (processor.isSimulated && invoiceId !== null) return { runAt: addMilliseconds(now(), HOUR_MS) };
    const outcome = await (invoiceId === null ? refundTopup(key) : processor.refundInvoice(invoiceId));
    if (outcome === 'disputed')
      return {
        runAt: addMilliseconds(now(), DAY_MS),
        reason: 'A dispute is open. Its outcome decides whether anything is left to refund.',
      };
    // The processor may list a payment some time after it was made.
    if (outcome === 'incomplete' && attempts + 1 < INCOMPLETE_ATTEMPTS) throw new Error(REJECTION_REASONS.incomplete);
    // First, as nothing repeats it once the row is closed.
    if (outcome === 'refunded' && invoiceId !== null) await syncInvoiceReversals(invoiceId);
    await closeRefund(owed, outcome === 'refunded' ? null : REJECTION_REASONS[outcome]);
    return undefined;
  },
};

/** @param reason why staff have to pay the customer back by hand; null if the refund was issued. */
async function closeRefund(
  { key, status, account_id: accountId, payment, topup_uuid: topupUuid }: OwedRefund,
  reason: string | null,
): Promise<void> {
  const advice = topupUuid === null ? '' : ' The customer has its credits: remove them if you pay it back by hand.';
  await OwedRefund.query()
    .findById(key)
    .where({ status })
    .patch(
      reason === null
        ? { status: 'refunded', completed_at: now() }
        : { status: 'rejected', last_error: reason + advice, completed_at: now() },
    );
  if (reason === null) logger.info({ accountId, payment }, 'owed refund issued');
  else logger.error({ accountId, payment, reason }, `owed refund rejected; pay the customer back by hand.${advice}`);
}

/** Refunds a top-up, and applies its new state: the event of the processor may arrive later, or not at all. */
async function refundTopup(uuid: string): Promise<ChargeRefundOutcome> {
  const topup = await findTopup(uuid);
  const intentId = topup.stripe_payment_intent_id as string;
  const outcome = await processor.refundPayment(intentId);
  // Read under a version from after the refund: another process may have applied the state before it under a newer one.
  const syncVersion = await nextSyncVersion();
  const payment = await processor.readPayment(intentId);
  const isSimulated = payment === null && outcome === 'refunded';
  await applySnapshot(
    isSimulated ? buildRefundedTopup(topup, syncVersion) : await findTopupSnapshot(payment, syncVersion),
  );
  return outcome;
}

/**
 * Records that an issued refund failed later at the bank: the money is back with the service, and staff decide. A
 * refund that is still owed stays owed, as the one that failed was another one.
 * @param key the id of the invoice, or the uuid of the top-up.
 */
export async function markRefundFailed(key: string): Promise<void> {
  const issued = await OwedRefund.query().findById(key).where({ status: 'refunded' });
  if (issued !== undefined) await closeRefund(issued, 'The refund failed at the bank.');
}
