import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';
import type { Account } from '../../tables/Account.ts';
import { Topup } from '../../tables/Topup.ts';
import { TopupRefund } from '../../tables/TopupRefund.ts';
import { type Actor, recordAuditEntry } from '../audit/recordAuditEntry.ts';
import { postEntries, withAccountLock } from '../credits/ledger.ts';
import { scheduleTasks } from '../tasks/scheduleTasks.ts';
import { REFUND_TOPUP_KIND } from './processorTasks.ts';
import { getNetCents } from './topupAmounts.ts';

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
 * Records that what is left of a paid top-up is to be refunded, once per top-up. The account must be locked. A task
 * issues the refund at the payment processor; the credits are taken back when the processor reports it.
 */
export async function oweTopupRefund(
  transaction: Transaction,
  { uuid, account_id }: Topup,
  cause: TopupRefund['cause'],
): Promise<void> {
  await TopupRefund.query(transaction)
    .insert({ topup_uuid: uuid, account_id, cause, status: 'owed', created_at: now() })
    .onConflict('topup_uuid')
    .ignore();
  await scheduleTasks(transaction, REFUND_TOPUP_KIND, [{ key: uuid, accountId: account_id }]);
  logger.info({ topup: uuid, accountId: account_id, cause }, 'top-up refund owed');
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
    const owed = await TopupRefund.query(transaction).findById(topupUuid);
    if (owed !== undefined) return assertNotRejected(owed);
    assertRefundable(topup);
    await oweTopupRefund(transaction, topup, 'staff');
    await recordAuditEntry(transaction, actor, {
      action: 'topup.refund',
      accountId,
      targetId: topupUuid,
      before: { refund: 'none', reversedNetCents: topup.reversed_cents },
      after: { refund: 'owed', refundNetCents: getNetCents(topup) - topup.reversed_cents },
    });
    return true;
  });
}

/** @returns false, as the refund is owed already. @throws ServiceError validation_error if it was rejected. */
function assertNotRejected({ status, last_error: error }: TopupRefund): false {
  if (status !== 'rejected') return false;
  throw new ServiceError(
    'validation_error',
    `The refund of this top-up was rejected. ${error ?? ''} Pay the customer back at the payment processor.`,
  );
}

/** Returns whether something is left of a paid top-up: it was not refunded, and no dispute has withdrawn it. */
export function isRefundable(topup: Topup): boolean {
  return isPaid(topup) && topup.reversed_cents < getNetCents(topup);
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

/** Records that an issued refund failed later at the bank: the money is back with the service, and staff decide. */
export async function markTopupRefundFailed(topupUuid: string): Promise<void> {
  await TopupRefund.query()
    .findById(topupUuid)
    .where({ status: 'refunded' })
    .patch({ status: 'rejected', last_error: 'The refund failed at the bank.', completed_at: now() });
}

const SETTLE_OWED_TOPUPS = prepared('settle_owed_topups', 'SELECT settle_owed_topups(:accountId, :at)');

/**
 * Returns the credits of a dispute that was won or a refund that failed, and takes back what top-ups of the account owe after refunds and
 * disputes, each as far as its own remainder has it. What generations in progress have of the rest is taken when they
 * are refunded, by a trigger of the ledger.
 */
export async function applyTopupReversals(transaction: Transaction, account: Account, { uuid }: Topup): Promise<void> {
  const topup = await Topup.query(transaction).findById(uuid).throwIfNotFound();
  const { credits_owed: owed, credits_reversed: reversed, reversal_count: count } = topup;
  if (owed < 0) {
    const entry = {
      entryType: 'grant' as const,
      amount: -owed,
      planAmount: 0,
      description: 'Top-up: refund or dispute reversed',
      effectKey: `topup:${uuid}:${count + 1}`,
    };
    await topup.$query(transaction).patch({ credits_reversed: reversed + owed, reversal_count: count + 1 });
    await postEntries(transaction, account, [entry]);
  }
  await runStatement(SETTLE_OWED_TOPUPS, { accountId: account.id, at: now() }, transaction);
}
