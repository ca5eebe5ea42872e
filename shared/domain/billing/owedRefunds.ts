import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';
import type { Account } from '../../tables/Account.ts';
import { Invoice } from '../../tables/Invoice.ts';
import { OwedRefund } from '../../tables/OwedRefund.ts';
import { Topup } from '../../tables/Topup.ts';
import { type Actor, recordAuditEntry } from '../audit/recordAuditEntry.ts';
import { withAccountLock } from '../credits/ledger.ts';
import { scheduleTasks } from '../tasks/scheduleTasks.ts';
import { REFUND_KIND } from './processorTasks.ts';

/** Payments of one kind, by their keys: ids of invoices at the processor, or uuids of top-ups. */
export type RefundedPayments = { invoices: string[] } | { topups: string[] };

/** Condition on `owed_refunds`: the refund is not issued yet, or was rejected, and staff have not closed it. */
export const IS_OPEN_REFUND = `status IN ('owed', 'rejected')`;

/**
 * Records that payments of a locked account are to be refunded, once each, in the transaction that decides it. A task
 * issues each refund; the credits of a top-up are taken back when the processor reports it.
 * @param doubt why staff have to decide instead; none is refunded then.
 */
export async function oweRefunds(
  transaction: Transaction,
  accountId: number,
  payments: RefundedPayments,
  cause: OwedRefund['cause'],
  doubt: string | null = null,
): Promise<void> {
  const [column, keys] =
    'topups' in payments ? (['topup_uuid', payments.topups] as const) : (['invoice_id', payments.invoices] as const);
  const owed = await OwedRefund.query(transaction).findByIds(keys).select('key');
  const added = keys.filter((key) => !owed.some((refund) => refund.key === key));
  if (added.length === 0) return;
  const at = now();
  const state = doubt === null ? {} : { status: 'rejected' as const, last_error: doubt, completed_at: at };
  await OwedRefund.query(transaction).insert(
    added.map((key) => ({ [column]: key, account_id: accountId, cause, created_at: at, ...state })),
  );
  if (doubt !== null) return;
  const tasks = added.map((key) => ({ key, accountId }));
  await scheduleTasks(transaction, REFUND_KIND, tasks);
  logger.info({ accountId, payments: added, cause }, 'refunds owed');
}

/**
 * Records that what was paid for a locked account since the request of its deletion is to be refunded: it was erased
 * before that was of use. Called at the erasure, and for each payment that changes later.
 */
export async function oweBackAfterDeletion(transaction: Transaction, account: Account): Promise<void> {
  const { id: accountId, deletion_requested_at: requestedAt } = account;
  if (requestedAt === null) return;
  const unused = await Invoice.query(transaction)
    .where({ account_id: accountId, kind: 'subscription', status: 'paid' })
    .whereNotNull('stripe_invoice_id')
    .where('paid_at', '>', requestedAt)
    .whereColumn('refunded_cents', '<', 'total_cents');
  const invoices = unused.map(({ stripe_invoice_id: id }) => id as string);
  await oweRefunds(transaction, accountId, { invoices }, 'erased');
  const paid = await Topup.query(transaction)
    .where({ account_id: accountId, status: 'succeeded' })
    .where('completed_at', '>', requestedAt);
  const topups = paid.filter(isRefundable).map(({ uuid }) => uuid);
  await oweRefunds(transaction, accountId, { topups }, 'erased');
}

/** Finds a top-up by its uuid. @throws ServiceError not_found */
export async function findTopup(uuid: string): Promise<Topup> {
  const topup = await Topup.query().findById(uuid);
  if (topup !== undefined) return topup;
  throw new ServiceError('not_found', 'Not found. There is no top-up with that UUID.');
}

/**
 * Records that staff refund what is left of a top-up, with its audit entry.
 * @returns false if it is owed already: nothing was changed or recorded.
 * @throws ServiceError validation_error if there is nothing to refund, or the processor rejected it.
 */
export async function requestTopupRefund(topupUuid: string, actor: Actor): Promise<boolean> {
  const { account_id: accountId } = await findTopup(topupUuid);
  return withAccountLock(accountId, async (transaction) => {
    const topup = await Topup.query(transaction).findById(topupUuid).throwIfNotFound();
    const owed = await OwedRefund.query(transaction).findById(topupUuid);
    if (owed !== undefined && owed.status !== 'rejected') return false;
    assertRefundable(topup);
    if (owed !== undefined)
      throw new ServiceError('validation_error', `The refund of this top-up was rejected. ${owed.last_error}`);
    await oweRefunds(transaction, accountId, { topups: [topupUuid] }, 'staff');
    await recordAuditEntry(transaction, actor, {
      action: 'topup.refund',
      accountId,
      targetId: topupUuid,
      before: { refund: 'none', reversedNetCents: topup.reversed_cents },
      after: { refund: 'owed', refundNetCents: topup.kept_cents },
    });
    return true;
  });
}

/** Finds a refund by its key. @throws ServiceError not_found */
export async function findRefund(key: string): Promise<OwedRefund> {
  const refund = await OwedRefund.query().findById(key);
  if (refund !== undefined) return refund;
  throw new ServiceError('not_found', 'Not found. There is no refund of that payment.');
}

/**
 * Records that staff have settled a rejected refund, with its audit entry: it is not listed as a problem any more.
 * @returns false if it is not rejected: nothing was changed or recorded.
 */
export async function closeRejectedRefund({ key, account_id: accountId }: OwedRefund, actor: Actor): Promise<boolean> {
  return withAccountLock(accountId, async (transaction) => {
    const rejected = OwedRefund.query(transaction).findById(key).where({ status: 'rejected' });
    if ((await rejected.patch({ status: 'closed' })) === 0) return false;
    await recordAuditEntry(transaction, actor, {
      action: 'refund.close',
      accountId,
      targetId: key,
      before: { refund: 'rejected' },
      after: { refund: 'closed' },
    });
    return true;
  });
}

/** Returns whether something is left of a paid top-up: it was not refunded, and no dispute has withdrawn it. */
export function isRefundable(topup: Topup): boolean {
  return isPaid(topup) && topup.kept_cents > 0;
}

function isPaid({ status, stripe_payment_intent_id: intentId }: Topup): boolean {
  return status === 'succeeded' && intentId !== null;
}

/** @throws ServiceError validation_error */
function assertRefundable(topup: Topup): void {
  if (isRefundable(topup)) return;
  const problem = isPaid(topup)
    ? 'Nothing is left to refund: this top-up has already been refunded or is disputed in full.'
    : 'Only a paid top-up can be refunded.';
  throw new ServiceError('validation_error', problem);
}
