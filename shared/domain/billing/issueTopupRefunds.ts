import { type ChargeRefundOutcome, processor } from '../../gateways/payments/index.ts';
import { now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { Account } from '../../tables/Account.ts';
import type { Topup } from '../../tables/Topup.ts';
import { TopupRefund } from '../../tables/TopupRefund.ts';
import { nextSyncVersion } from '../payments/accountSnapshot.ts';
import { buildDisputedRefundRetry, buildFailedRefundRetry, REFUND_BATCH_SIZE } from './refundRetries.ts';
import { findTopupSnapshot, settleTopup } from './topupPayments.ts';
import { findTopup, isRefundable } from './topupRefunds.ts';

/** Issues refunds that are due: new ones, and those whose last attempt failed or found an open dispute. */
export async function issueDueTopupRefunds(): Promise<void> {
  const due = await TopupRefund.query()
    .where({ status: 'owed' })
    .where('next_attempt_at', '<=', now())
    .orderBy('next_attempt_at')
    .limit(REFUND_BATCH_SIZE);
  for (const refund of due) await issueTopupRefund(refund);
}

/** Refunds a top-up. May be repeated at any time, as the processor refunds a payment once. */
async function issueTopupRefund(refund: TopupRefund): Promise<void> {
  const { topup_uuid: uuid, account_id: accountId } = refund;
  try {
    const topup = await findTopup(uuid);
    const outcome = await refundAtProcessor(topup);
    await recordOutcome(refund, topup, outcome);
  } catch (err) {
    await owedRow(refund).patch(buildFailedRefundRetry(refund.attempts + 1, err, { topup: uuid, accountId }));
  }
}

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
async function recordOutcome(refund: TopupRefund, before: Topup, outcome: ChargeRefundOutcome): Promise<void> {
  const attempts = refund.attempts + 1;
  const context = { topup: before.uuid, accountId: before.account_id };
  if (outcome === 'disputed') {
    await owedRow(refund).patch(buildDisputedRefundRetry(attempts));
    logger.info(context, 'top-up is disputed; its refund waits for the outcome');
    return;
  }
  const isRefunded = outcome === 'refunded';
  const isReturnedByDispute = before.is_disputed && !isRefundable(before);
  const note = isReturnedByDispute ? 'A dispute has returned the payment.' : null;
  await owedRow(refund).patch({
    attempts,
    status: isRefunded ? 'refunded' : 'rejected',
    last_error: isRefunded ? note : 'The processor does not refund a charge that was disputed.',
    completed_at: now(),
  });
  if (isRefunded) logger.info(context, 'top-up refund issued');
  else logger.error(context, 'top-up refund rejected; pay the customer back by hand');
}

function owedRow({ topup_uuid: topupUuid }: TopupRefund) {
  return TopupRefund.query().findById(topupUuid).where({ status: 'owed' });
}
