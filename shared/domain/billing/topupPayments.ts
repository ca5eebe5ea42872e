import type { Transaction } from 'objection';
import { type PaymentFailureCode, processor, type ProcessorPayment } from '../../gateways/payments/index.ts';
import { now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { AUTO_TOPUP_DECLINES_MAX } from '../../spec/limits.ts';
import { Account } from '../../tables/Account.ts';
import { Topup } from '../../tables/Topup.ts';
import { postEntries, withAccountLock } from '../credits/ledger.ts';
import { recordEvent } from '../outbox/recordEvent.ts';
import { recordTopupInvoice, recordTopupRefund } from './invoices.ts';
import { computePaidTopup, computeReversedNetCents, getTotalCents, isPaymentOfOrder } from './topupAmounts.ts';
import { oweBackAfterDeletion, oweRefunds } from './owedRefunds.ts';
import { applyTopupReversals } from './topupReversals.ts';
import { scheduleTasks } from '../tasks/scheduleTasks.ts';
import { PENDING_TOPUP_KINDS } from './processorTasks.ts';
import type { AccountSnapshot } from '../payments/accountSnapshot.ts';

/** The state of a top-up's payment at the processor. */
type PaymentState = Omit<ProcessorPayment, 'intentId' | 'topupUuid' | 'order' | 'isAutomatic' | 'isDelayed'> & {
  intentId: string | null;
};

/** Returns the snapshot of the top-up that a payment pays for; null if it is not for a top-up of this service. */
export async function findTopupSnapshot(
  payment: ProcessorPayment | null,
  syncVersion: number,
): Promise<AccountSnapshot | null> {
  if (payment === null || payment.topupUuid === null) return null;
  const topup = (await Topup.query().findById(payment.topupUuid)) ?? (await restoreTopup(payment));
  if (topup === undefined) return null;
  const { intentId, amountCents, taxCents, discountCents } = payment;
  const snapshot = buildSnapshot(topup, payment, syncVersion);
  // A credited top-up has its net credits by now, which must not be computed from the order again.
  if (payment.status !== 'succeeded' || topup.status === 'succeeded') return snapshot;
  if (isPaymentOfOrder(payment, topup) && computePaidTopup(payment, topup).credits > 0)
    return buildSnapshot(topup, { ...payment, paidAt: await findPaidAt(payment) }, syncVersion);
  logger.error(
    { topup: topup.uuid, intent: intentId, amountCents, taxCents, discountCents, requestedCents: topup.amount_cents },
    'top-up paid with another amount than requested; not credited: credit or refund it by hand',
  );
  const mismatch = { ...payment, status: 'failed', reversedCents: 0, failureCode: 'amount_mismatch' } as const;
  return buildSnapshot(topup, mismatch, syncVersion);
}

/** Returns when a payment that has succeeded was collected. One that is not listed yet was collected just now. */
async function findPaidAt({ intentId, paidAt, isDelayed }: ProcessorPayment): Promise<Date | null> {
  if (paidAt === null || !isDelayed) return paidAt;
  return (await processor.findCollectionTime(intentId, paidAt)) ?? now();
}

/**
 * Records a paid top-up that the database does not know, since it was restored from a backup that is older. An
 * automatic one claims its hour again. While another one is pending it is rejected by an index, and the sync is
 * repeated.
 */
async function restoreTopup({
  paidAt,
  isAutomatic,
  order,
  intentId,
  topupUuid: paymentTopup,
}: ProcessorPayment): Promise<Topup | undefined> {
  if (paidAt === null) return undefined;
  if (order === null) {
    logger.error(
      { topup: paymentTopup, intent: intentId },
      'unknown top-up was paid, and its payment does not name account and credits; not credited: credit or refund it by hand',
    );
    return undefined;
  }
  const { topupUuid, accountUuid, amountCents, credits } = order;
  const account = await Account.query().findOne({ uuid: accountUuid });
  const context = { topup: topupUuid, intent: intentId, accountUuid, amountCents, credits };
  if (account === undefined) {
    logger.error(context, 'top-up paid for an unknown account; not credited: refund it by hand');
    return undefined;
  }
  logger.warn(context, 'unknown top-up was paid; recorded from its payment');
  const kind = isAutomatic ? 'automatic' : 'manual';
  await withAccountLock(account.id, async (transaction, locked) => {
    if (isAutomatic && (locked.auto_topup_claimed_at ?? paidAt) <= paidAt)
      await locked.$query(transaction).patch({ auto_topup_claimed_at: paidAt });
    await Topup.query(transaction)
      .insert({
        uuid: topupUuid,
        account_id: account.id,
        kind,
        status: 'pending',
        amount_cents: amountCents,
        credits,
        created_at: paidAt,
        stripe_payment_intent_id: intentId,
      })
      .onConflict('uuid')
      .ignore();
    await scheduleTasks(transaction, PENDING_TOPUP_KINDS[kind], [{ key: topupUuid, accountId: account.id }]);
  });
  return Topup.query().findById(topupUuid);
}

/** Returns the snapshot of a top-up that will never be paid. */
export function buildFailedTopup(topup: Topup, failureCode: PaymentFailureCode, syncVersion: number): AccountSnapshot {
  return buildSnapshot(topup, { ...NOTHING_PAID, failureCode }, syncVersion);
}

/** Returns the snapshot of a top-up whose simulated payment was refunded. */
export function buildRefundedTopup(topup: Topup, syncVersion: number): AccountSnapshot {
  const reversedCents = getTotalCents(topup);
  return buildSnapshot(topup, { ...NOTHING_PAID, status: 'succeeded', reversedCents, failureCode: null }, syncVersion);
}

const NOTHING_PAID = {
  intentId: null,
  status: 'failed',
  paidAt: null,
  amountCents: 0,
  taxCents: 0,
  discountCents: 0,
  reversedCents: 0,
  isDisputed: false,
} as const;

function buildSnapshot({ uuid, account_id: accountId }: Topup, payment: PaymentState, syncVersion: number) {
  const apply = (transaction: Transaction, account: Account) =>
    applyPayment(transaction, account, uuid, payment, syncVersion);
  return { accountId, problem: null, apply };
}

/** Applies the state of a payment to its top-up and account. A snapshot older than the last one changes nothing. */
async function applyPayment(
  transaction: Transaction,
  account: Account,
  uuid: string,
  payment: PaymentState,
  syncVersion: number,
): Promise<void> {
  const topup = await Topup.query(transaction).findById(uuid).throwIfNotFound();
  if (topup.sync_version >= syncVersion) return;
  const status = getNextTopupStatus(topup, payment);
  const isPaidNow = status === 'succeeded' && topup.status !== 'succeeded';
  const amounts = isPaidNow ? computePaidTopup(payment, topup) : {};
  // With the credits and amounts that were paid, which stay what they are from then on.
  topup.$set(amounts);
  const isDeclinedNow = status === 'failed' && topup.status !== 'failed' && !isFinalFailure(payment.failureCode);
  const customer = isPaidNow ? await creditTopup(transaction, account, topup) : account;
  const isDisabled =
    isDeclinedNow && topup.kind === 'automatic' && (await recordDecline(transaction, customer, topup, payment));
  const isDisputedNow = payment.isDisputed && !topup.is_disputed;
  if (isDisputedNow && topup.kind === 'automatic') await disableAutoTopups(transaction, customer, topup, 'disputed');
  if (status === 'failed' && topup.status !== 'failed') {
    // The message about a decline that switches automatic top-ups off is that of the other event.
    await recordTopupEvent(transaction, topup, 'failed', {
      failureCode: payment.failureCode,
      mayEmail: topup.kind === 'automatic' && isDeclinedNow && !isDisabled,
    });
  }
  await topup.$query(transaction).patch({
    ...amounts,
    status,
    is_disputed: payment.isDisputed,
    reversed_cents: status === 'succeeded' ? computeReversedNetCents(topup, payment.reversedCents) : 0,
    failure_code: status === 'failed' ? (topup.failure_code ?? payment.failureCode) : null,
    stripe_payment_intent_id: topup.stripe_payment_intent_id ?? payment.intentId,
    sync_version: syncVersion,
    completed_at: isPaidNow ? payment.paidAt : (topup.completed_at ?? (status === 'pending' ? null : now())),
  });
  if (status !== 'succeeded') return;
  if (isPaidNow) await recordTopupInvoice(transaction, topup);
  if (customer.erased_at !== null) {
    // Nothing can be bought with the credits any more.
    if (isPaidNow) await oweRefunds(transaction, account.id, { topups: [topup.uuid] }, 'erased');
    // Its money may have come back since the erasure: a dispute was won, or a refund failed.
    await oweBackAfterDeletion(transaction, customer);
  }
  await recordTopupRefund(transaction, topup, payment.reversedCents);
  await applyTopupReversals(transaction, customer, topup);
}

function getNextTopupStatus(topup: Topup, { status, failureCode }: PaymentState): Topup['status'] {
  // A paid top-up stays paid: later refunds are recorded in the reversed amount.
  if (topup.status === 'succeeded') return 'succeeded';
  // A late success is credited. Nothing syncs a failed one that is pending again, and another automatic one may be in
  // progress by now.
  if (topup.status === 'failed') return status === 'succeeded' ? 'succeeded' : 'failed';
  // After a decline on a checkout page the customer may try another card, until the page is closed.
  const isDeclined = status === 'failed' && !isFinalFailure(failureCode);
  return topup.kind === 'manual' && isDeclined ? 'pending' : status;
}

/** Returns whether a failure is final. After a decline, in contrast, another card may succeed. */
function isFinalFailure(code: PaymentFailureCode | null): boolean {
  return code === 'canceled' || code === 'amount_mismatch' || code === 'nothing_paid';
}

async function creditTopup(transaction: Transaction, account: Account, topup: Topup): Promise<Account> {
  const entry = {
    entryType: 'topup' as const,
    amount: topup.credits,
    planAmount: 0,
    description: `Top-up: ${topup.credits} credits`,
    effectKey: `topup:${topup.uuid}`,
  };
  const recovered = topup.kind === 'automatic' ? { auto_topup_declines: 0 } : {};
  await recordTopupEvent(transaction, topup, 'succeeded', { failureCode: null, mayEmail: false });
  return postEntries(transaction, account, [entry], recovered);
}

/** Failures that the next attempt would have, too. */
const DISABLING_CODES: readonly (PaymentFailureCode | null)[] = ['authentication_required', 'address_required'];

/** Records the outcome of a top-up as an event, with what may change later: a late success follows a failure. */
async function recordTopupEvent(
  transaction: Transaction,
  topup: Topup,
  status: 'succeeded' | 'failed',
  { failureCode, mayEmail }: { failureCode: PaymentFailureCode | null; mayEmail: boolean },
): Promise<void> {
  const { uuid, account_id: accountId, kind, amount_cents, credits } = topup;
  const details = { kind, amount_cents, credits, failure_code: failureCode };
  await recordEvent(transaction, { accountId, type: `topup.${status}`, subject: uuid, details, mayEmail });
}

/**
 * Counts a decline. Several in a row, or a failure that requires the customer, switch automatic top-ups off.
 * @returns whether they were switched off.
 */
async function recordDecline(
  transaction: Transaction,
  account: Account,
  topup: Topup,
  { failureCode }: PaymentState,
): Promise<boolean> {
  const declines = account.auto_topup_declines + 1;
  const isDisabled = DISABLING_CODES.includes(failureCode) || declines >= AUTO_TOPUP_DECLINES_MAX;
  if (isDisabled) return disableAutoTopups(transaction, account, topup, failureCode ?? 'declined');
  await account.$query(transaction).patch({ auto_topup_declines: declines });
  return false;
}

/** @returns whether they were on. */
async function disableAutoTopups(
  transaction: Transaction,
  account: Account,
  { uuid }: Topup,
  problem: string,
): Promise<boolean> {
  const { id: accountId, auto_topup_enabled: wasEnabled } = account;
  if (!wasEnabled) return false;
  await account
    .$query(transaction)
    .patch({ auto_topup_enabled: false, auto_topup_problem: problem, auto_topup_declines: 0 });
  const details = { reason: problem };
  await recordEvent(transaction, { accountId, type: 'auto_topup.disabled', subject: `${uuid}:${problem}`, details });
  return true;
}
