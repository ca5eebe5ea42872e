import { type ChargeRefundOutcome, processor } from '../../gateways/payments/index.ts';
import { now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { Account } from '../../tables/Account.ts';
import type { Topup } from '../../tables/Topup.ts';
import { TopupRefund } from '../../tables/TopupRefund.ts';
import { nextSyncVersion } from '../payments/accountSnapshot.ts';
import type { TaskKind } from '../tasks/taskKind.ts';
import { PROCESSOR_TASK, REFUND_TOPUP_KIND, waitForDispute } from './processorTasks.ts';
import { findTopupSnapshot, settleTopup } from './topupPayments.ts';
import { findTopup, isRefundable } from './topupRefunds.ts';

/** Refunds what is left of a top-up, whose uuid is the key. The processor refunds a payment once. */
export const REFUND_TOPUP: TaskKind = {
  ...PROCESSOR_TASK,
  name: REFUND_TOPUP_KIND,
  waiting: `SELECT account_id, cast(topup_uuid AS text) AS key FROM topup_refunds WHERE status = 'owed'`,
  run: async ([{ key }]) => {
    const refund = await TopupRefund.query().findOne({ topup_uuid: key, status: 'owed' });
    if (refund === undefined) return undefined;
    const topup = await findTopup(key);
    const outcome = await refundAtProcessor(topup);
    if (outcome === 'disputed') return waitForDispute();
    await recordOutcome(topup, outcome);
    return undefined;
  },
};

/** Refunds the payment, and applies its new state: the event of the processor may arrive later, or not at all. */
async function refundAtProcessor(topup: Topup): Promise<ChargeRefundOutcome> {
  const { uuid: accountUuid } = await Account.query().findById(topup.account_id).throwIfNotFound();
  const intentId = topup.stripe_payment_intent_id as string;
  const { outcome, payment } = await processor.refundTopup({
    topupUuid: topup.uuid,
    accountUuid,
    amountCents: topup.amount_cents,
    credits: topup.credits,
    intentId,
  });
  // Read under a version from after the refund: another process may have applied the state before it under a newer one.
  const syncVersion = await nextSyncVersion();
  const current = (await processor.readPayment(intentId)) ?? payment;
  await settleTopup(await findTopupSnapshot(current, syncVersion));
  return outcome;
}

/**
 * Records the outcome. A payment that a lost dispute has returned counts as refunded; staff pay the customer back only
 * if the processor refuses, as it does after a dispute that was won.
 * @param before the top-up before the attempt.
 */
async function recordOutcome(before: Topup, outcome: 'refunded' | 'refused'): Promise<void> {
  const isRefunded = outcome === 'refunded';
  const isReturnedByDispute = before.is_disputed && !isRefundable(before);
  const note = isReturnedByDispute ? 'A dispute has returned the payment.' : null;
  await TopupRefund.query()
    .findById(before.uuid)
    .where({ status: 'owed' })
    .patch({
      status: isRefunded ? 'refunded' : 'rejected',
      last_error: isRefunded ? note : 'The processor does not refund a charge that was disputed.',
      completed_at: now(),
    });
  const context = { topup: before.uuid, accountId: before.account_id };
  if (isRefunded) logger.info(context, 'top-up refund issued');
  else logger.error(context, 'top-up refund rejected; pay the customer back by hand');
}
