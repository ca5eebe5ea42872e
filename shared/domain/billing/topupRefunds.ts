import { type ChargeRefundOutcome, ProcessorError, processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { getBackoffMs } from '../../lib/retryBackoff.ts';
import { DAY_MS, HOUR_MS } from '../../spec/durations.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { Topup } from '../../tables/Topup.ts';
import { TopupRefund } from '../../tables/TopupRefund.ts';
import { withAccountLock } from '../payments/accountSnapshot.ts';
import { nextSyncVersion } from '../payments/syncVersion.ts';
import { type Actor, recordAuditEntry } from '../staff/audit.ts';
import { getNetCents } from './topupAmounts.ts';
import { findTopupSnapshot, settleTopup } from './topupPayments.ts';

const BATCH_SIZE = 200;
const RETRY_BACKOFF = { minMs: 30_000, maxMs: HOUR_MS };

/** Finds a top-up by its uuid. @throws ServiceError not_found */
export async function findTopup(uuid: string): Promise<Topup> {
  const topup = await Topup.query().findById(uuid);
  if (topup !== undefined) return topup;
  throw new ServiceError('not_found', 'Not found. There is no top-up with that UUID.');
}

/** Lists the refunds of top-ups of an account, newest first. */
export async function listTopupRefunds(accountId: number): Promise<TopupRefund[]> {
  return TopupRefund.query().where({ account_id: accountId }).orderBy('created_at', 'desc');
}

/**
 * Records that staff refund what is left of a top-up. A sweep issues the refund at the payment processor; the credits
 * are taken back when the processor reports it, as far as the balance has them. A top-up has one such refund.
 * @returns false if it was requested before: nothing was changed or recorded.
 * @throws ServiceError validation_error if there is nothing to refund, or a dispute decides.
 */
export async function requestTopupRefund(topupUuid: string, reason: string, actor: Actor): Promise<boolean> {
  const { account_id: accountId } = await findTopup(topupUuid);
  const isChanged = await withAccountLock(accountId, async (transaction) => {
    const topup = await Topup.query(transaction).findById(topupUuid).throwIfNotFound();
    const requested = await TopupRefund.query(transaction).findById(topupUuid);
    if (requested !== undefined) return assertNotRejected(requested);
    assertRefundable(topup);
    const at = now();
    await TopupRefund.query(transaction).insert({
      topup_uuid: topupUuid,
      account_id: accountId,
      status: 'owed',
      next_attempt_at: at,
      created_at: at,
    });
    await recordAuditEntry(transaction, actor, {
      action: 'topup.refund',
      accountId,
      targetType: 'topup',
      targetId: topupUuid,
      reason,
      before: { refund: 'none', reversedNetCents: topup.reversed_cents },
      after: { refund: 'owed', refundNetCents: getNetCents(topup) - topup.reversed_cents },
    });
    return true;
  });
  if (isChanged) logger.info({ topup: topupUuid, accountId }, 'top-up refund requested');
  return isChanged;
}

/** @returns false, as the refund was requested before. @throws ServiceError validation_error if it was rejected. */
function assertNotRejected({ status, last_error: error }: TopupRefund): false {
  if (status !== 'rejected') return false;
  throw new ServiceError(
    'validation_error',
    `The refund of this top-up was rejected. ${error ?? ''} Pay the customer back at the payment processor.`,
  );
}

/** @throws ServiceError validation_error */
function assertRefundable(topup: Topup): void {
  const problem =
    topup.status !== 'succeeded' || topup.stripe_payment_intent_id === null
      ? 'Only a paid top-up can be refunded.'
      : topup.is_disputed
        ? 'The payment of this top-up is disputed. The outcome of the dispute decides.'
        : topup.reversed_cents >= getNetCents(topup)
          ? 'This top-up has already been refunded in full.'
          : undefined;
  if (problem !== undefined) throw new ServiceError('validation_error', problem);
}

/** Issues refunds that are due: they were just requested, or the processor was unavailable. */
export async function issueDueTopupRefunds(): Promise<void> {
  const due = await TopupRefund.query()
    .where({ status: 'owed' })
    .where('next_attempt_at', '<=', now())
    .orderBy('next_attempt_at')
    .limit(BATCH_SIZE);
  for (const refund of due) await issueTopupRefund(refund);
}

/** Refunds a top-up. May be repeated at any time, as the processor refunds a payment once. */
async function issueTopupRefund(refund: TopupRefund): Promise<void> {
  const { topup_uuid: topup, account_id: accountId } = refund;
  const attempts = refund.attempts + 1;
  try {
    const outcome = await refundAtProcessor(refund);
    await recordOutcome(refund, outcome);
    if (outcome === 'refused')
      logger.error({ topup, accountId }, 'top-up refund rejected; pay the customer back by hand');
    else logger.info({ topup, accountId, outcome }, 'top-up refund attempted');
  } catch (err) {
    const isUnavailable = err instanceof ProcessorError && err.fault === 'unavailable';
    logger[isUnavailable ? 'warn' : 'error']({ err, topup, accountId }, 'top-up refund failed; sweep will retry');
    const waitMs = getBackoffMs(attempts - 1, RETRY_BACKOFF);
    await owedRow(refund).patch({
      attempts,
      last_error: (err as Error).message.slice(0, 500),
      next_attempt_at: addMilliseconds(now(), waitMs),
    });
  }
}

/** Refunds the payment, and applies its new state: the event of the processor may arrive later, or not at all. */
async function refundAtProcessor({ topup_uuid: topupUuid }: TopupRefund): Promise<ChargeRefundOutcome> {
  const topup = await findTopup(topupUuid);
  const { uuid: accountUuid } = await Account.query().findById(topup.account_id).throwIfNotFound();
  const intentId = topup.stripe_payment_intent_id as string;
  const { outcome, payment } = await processor.refundTopup({
    topupUuid,
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

async function recordOutcome(refund: TopupRefund, outcome: ChargeRefundOutcome): Promise<void> {
  const attempts = refund.attempts + 1;
  if (outcome === 'disputed') {
    await owedRow(refund).patch({
      attempts,
      last_error: 'A dispute is open. Its outcome decides whether anything is left to refund.',
      next_attempt_at: addMilliseconds(now(), DAY_MS),
    });
    return;
  }
  await owedRow(refund).patch({
    attempts,
    status: outcome === 'refunded' ? 'refunded' : 'rejected',
    last_error: outcome === 'refunded' ? null : 'The processor does not refund a charge that was disputed.',
    completed_at: now(),
  });
}

function owedRow({ topup_uuid: topupUuid }: TopupRefund) {
  return TopupRefund.query().findById(topupUuid).where({ status: 'owed' });
}

/** Records that an issued refund failed later at the bank: the money is back with the service, and staff decide. */
export async function markTopupRefundFailed(topupUuid: string): Promise<void> {
  await TopupRefund.query()
    .findById(topupUuid)
    .where({ status: 'refunded' })
    .patch({ status: 'rejected', last_error: 'The refund failed at the bank.', completed_at: now() });
}
