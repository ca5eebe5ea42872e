import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { processor, ProcessorError } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { formatUtcDay } from '../../lib/calendar.ts';
import { isDuplicate } from '../../lib/database/errors.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { logger } from '../../lib/logger.ts';
import { Account } from '../../tables/Account.ts';
import { Affiliate } from '../../tables/Affiliate.ts';
import { Commission } from '../../tables/Commission.ts';
import { Payout } from '../../tables/Payout.ts';
import { PayoutItem } from '../../tables/PayoutItem.ts';
import { recordEvent } from '../outbox/recordEvent.ts';
import type { AccountSnapshot } from '../payments/accountSnapshot.ts';
import { trySync } from '../payments/processorErrors.ts';
import { scheduleTasks } from '../tasks/scheduleTasks.ts';
import type { TaskKind } from '../tasks/taskKind.ts';
import { syncConnectedAccount } from './payoutAccounts.ts';
import { HOUR_MS, MINUTE_MS } from '../../spec/durations.ts';

/** Returns the start of the month (UTC). Commissions that are payable by then are paid in that month. */
export function getMonthStart(moment: Date): Date {
  return new Date(Date.UTC(moment.getUTCFullYear(), moment.getUTCMonth(), 1));
}

/** Queries the commissions of an affiliate to settle: payable by then and not paid out, or paid out and reversed since. */
export function outstandingCommissions(affiliateId: number, until: Date, transaction?: Transaction) {
  return Commission.query(transaction)
    .where({ affiliate_id: affiliateId, is_simulated: processor.isSimulated })
    .whereColumn('amount_cents', '<>', 'settled_cents')
    .where((due) => {
      void due.where('payable_at', '<=', until).orWhereColumn('amount_cents', '<', 'settled_cents');
    });
}

/** A commission that was synced within this time is not synced again before its payout. */
const SYNC_FRESHNESS_MS = 6 * HOUR_MS;

/** Returns since when a commission must have been synced to be paid out. Simulated ones never change. */
export function getFreshnessCutoff(): Date {
  return processor.isSimulated ? new Date(0) : addMilliseconds(now(), -SYNC_FRESHNESS_MS);
}

const ADD_SETTLED_CENTS = prepared(
  'settle_commissions',
  `UPDATE commissions c SET settled_cents = c.settled_cents + :sign * i.amount_cents
     FROM payout_items i WHERE i.payout_uuid = :payout AND c.id = i.commission_id`,
);

/**
 * Records this month's payout of an affiliate before its transfer is requested. Reversals of commissions that were paid
 * out are deducted; if they exceed the earnings, nothing is paid and the rest is carried over. Commissions that were
 * not synced lately are not paid, but their reversals are deducted. Creates none if there is nothing to pay, this month has
 * a payout already, the outcome of another payout is unknown, or the account is suspended.
 */
export async function createPayout(affiliateId: number): Promise<void> {
  const monthStart = getMonthStart(now());
  const month = formatUtcDay(monthStart);
  await Affiliate.transaction(async (transaction) => {
    // Commissions of a suspended account stay owed until it is reinstated. The lock makes a suspension wait.
    const account = await Account.query(transaction).findById(affiliateId).forShare().throwIfNotFound();
    if (account.suspended_at !== null) return;
    const affiliate = await Affiliate.query(transaction).findById(affiliateId).forNoKeyUpdate().throwIfNotFound();
    if (!canReceivePayouts(affiliate)) return;
    // A pending payout of any month may still be released; another one could deduct what that release returns.
    const before = Payout.query(transaction)
      .where({ affiliate_id: affiliateId })
      .where((other) => {
        void other.where({ status: 'pending' }).orWhere((paid) => {
          void paid.where({ month }).whereNot({ status: 'rejected' });
        });
      });
    if ((await before.first()) !== undefined) return;
    const due = outstandingCommissions(affiliateId, monthStart, transaction).orderBy('id').forNoKeyUpdate();
    const commissions = await due.where((synced) => {
      void synced.where('synced_at', '>', getFreshnessCutoff()).orWhereColumn('amount_cents', '<', 'settled_cents');
    });
    const items = commissions.map((row) => ({ id: row.id, cents: row.amount_cents - row.settled_cents }));
    const amountCents = items.reduce((sum, { cents }) => sum + cents, 0);
    if (amountCents <= 0) return;
    const payout = await Payout.query(transaction).insertAndFetch({
      uuid: uuidv7(),
      affiliate_id: affiliateId,
      month,
      status: 'pending',
      amount_cents: amountCents,
      connect_account_id: affiliate.connect_account_id,
      created_at: now(),
    });
    await PayoutItem.query(transaction).insert(
      items.map(({ id, cents }) => ({ payout_uuid: payout.uuid, commission_id: id, amount_cents: cents })),
    );
    await runStatement(ADD_SETTLED_CENTS, { payout: payout.uuid, sign: 1 }, transaction);
    await scheduleTasks(transaction, TRANSFER_PAYOUT.name, [{ key: payout.uuid, accountId: affiliateId }]);
  });
}

/** Returns whether an affiliate can receive payouts. A simulated onboarding does not count for real payouts. */
export function canReceivePayouts({ payout_enabled: isEnabled, connect_account_id: id }: Affiliate): boolean {
  return isEnabled && (processor.isSimulated || id !== null);
}

/**
 * Transfers a payout, whose uuid is the key. Searches for the transfer before it is requested, as an earlier run may have
 * done that without learning the outcome.
 */
export const TRANSFER_PAYOUT: TaskKind = {
  name: 'payout.transfer',
  backoff: { minMs: MINUTE_MS, maxMs: HOUR_MS },
  waiting: `SELECT affiliate_id AS account_id, cast(uuid AS text) AS key FROM payouts WHERE status = 'pending'`,
  run: async ([{ key }]) => {
    const payout = await Payout.query().findOne({ uuid: key, status: 'pending' });
    if (payout === undefined) return undefined;
    // While payments are simulated, a real one waits: the processor may be configured again.
    if (processor.isSimulated && payout.connect_account_id !== null) return { runAt: addMilliseconds(now(), HOUR_MS) };
    const transferId = await processor.findTransfer(payout.uuid, payout.created_at);
    if (transferId !== null) await markPayoutPaid(payout, transferId);
    else await requestTransfer(payout);
    return undefined;
  },
};

async function requestTransfer(payout: Payout): Promise<void> {
  const { uuid: payoutUuid, amount_cents: amountCents, connect_account_id: connectAccountId } = payout;
  const request = { payoutUuid, amountCents, connectAccountId: connectAccountId as string };
  try {
    await markPayoutPaid(payout, await processor.createTransfer(request));
  } catch (err) {
    if (!(err instanceof ProcessorError) || err.fault !== 'rejected') throw err;
    logger.warn({ err, payout: payoutUuid }, 'payout rejected');
    await releasePayout(payout, err.message.slice(0, 500));
  }
}

async function markPayoutPaid(payout: Payout, transferId: string | null): Promise<void> {
  const paid = { status: 'paid', stripe_transfer_id: transferId, last_error: null, completed_at: now() } as const;
  const isMarked = await Payout.transaction(async (transaction) => {
    const marked = await Payout.query(transaction).findById(payout.uuid).where({ status: 'pending' }).patch(paid);
    if (marked === 0) return false;
    await recordPayoutEvent(transaction, payout, paid.completed_at);
    return true;
  });
  if (!isMarked && transferId !== null) await reinstatePayout(payout, transferId, paid);
}

async function recordPayoutEvent(transaction: Transaction, payout: Payout, paidAt: Date): Promise<void> {
  await recordEvent(transaction, {
    accountId: payout.affiliate_id,
    type: 'affiliate.payout',
    subject: payout.uuid,
    details: { month: payout.month, amount_cents: payout.amount_cents, paid_at: paidAt.toISOString() },
  });
}

/**
 * Marks a rejected payout as paid: another process received the rejection, but the transfer exists. The payout settles
 * its commissions again. If another payout has settled them meanwhile, the excess is deducted from the next ones.
 */
async function reinstatePayout(
  payout: Payout,
  transferId: string,
  paid: Partial<Payout> & { completed_at: Date },
): Promise<void> {
  const { uuid, affiliate_id: affiliateId } = payout;
  try {
    await Payout.transaction(async (transaction) => {
      await Affiliate.query(transaction).findById(affiliateId).forNoKeyUpdate();
      const again = await Payout.query(transaction).findById(uuid).where({ status: 'rejected' }).patch(paid);
      if (again === 0) return;
      await runStatement(ADD_SETTLED_CENTS, { payout: uuid, sign: 1 }, transaction);
      await recordPayoutEvent(transaction, payout, paid.completed_at);
      logger.warn({ payout: uuid, transferId }, 'rejected payout was transferred after all');
    });
  } catch (err) {
    if (!isDuplicate(err)) throw err;
    const message = 'rejected payout was transferred, but its month has another payout; reverse this transfer by hand';
    logger.error({ payout: uuid, affiliateId, transferId }, message);
  }
}

/**
 * Searches for the transfer of an affiliate's last rejected payout before another payout is created. Two workers may
 * have requested it: one was rejected, and the other succeeded and died before it recorded the transfer.
 * @throws ProcessorError while the processor is unavailable.
 */
export async function recoverRejectedTransfer(affiliateId: number): Promise<void> {
  const last = await Payout.query()
    .where({ affiliate_id: affiliateId, status: 'rejected' })
    .orderBy('completed_at', 'desc')
    .first();
  if (last === undefined) return;
  const transferId = await processor.findTransfer(last.uuid, last.created_at);
  if (transferId !== null) await markPayoutPaid(last, transferId);
}

/** A paid payout whose transfer was reversed by hand at the processor. */
export interface PayoutReversalSnapshot extends AccountSnapshot {
  kind: 'payoutReversal';
  transferId: string;
}

/** Reads a transfer. @returns null unless it is that of a payout and was reversed as a whole. */
export async function fetchPayoutReversal(transferId: string): Promise<PayoutReversalSnapshot | null> {
  const payout = await Payout.query().findOne({ stripe_transfer_id: transferId });
  if (payout === undefined) return null;
  const { affiliate_id: accountId, uuid } = payout;
  if (await processor.isTransferReversed(transferId))
    return { kind: 'payoutReversal', accountId, problem: null, transferId };
  logger.error({ payout: uuid, transferId }, 'transfer reversed in part; the payout counts as paid in full');
  return null;
}

/** Rejects a payout whose transfer was reversed: its commissions are payable again, less any reversals since. */
export async function applyPayoutReversal(
  transaction: Transaction,
  { accountId, transferId }: PayoutReversalSnapshot,
): Promise<void> {
  await Affiliate.query(transaction).findById(accountId).forNoKeyUpdate();
  const payout = await Payout.query(transaction).findOne({ stripe_transfer_id: transferId, status: 'paid' });
  if (payout === undefined) return;
  await payout.$query(transaction).patch({
    status: 'rejected',
    stripe_transfer_id: null,
    last_error: `The transfer ${transferId} was reversed at the payment processor.`,
    completed_at: now(),
  });
  await runStatement(ADD_SETTLED_CENTS, { payout: payout.uuid, sign: -1 }, transaction);
}

/** Releases a payout that was not transferred: its commissions are payable again, less any reversals since. */
async function releasePayout({ uuid, connect_account_id: connectAccountId }: Payout, lastError: string): Promise<void> {
  await Payout.transaction(async (transaction) => {
    const released = await Payout.query(transaction)
      .findById(uuid)
      .where({ status: 'pending' })
      .patch({ status: 'rejected', last_error: lastError, completed_at: now() });
    if (released === 1) await runStatement(ADD_SETTLED_CENTS, { payout: uuid, sign: -1 }, transaction);
  });
  // The connected account may no longer accept transfers.
  if (connectAccountId !== null) await trySync(() => syncConnectedAccount(connectAccountId));
}
