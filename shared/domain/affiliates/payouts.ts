import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { processor, ProcessorError, type ProcessorTransfer } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { formatUtcDay } from '../../lib/calendar.ts';
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

/** Condition of a commission to settle: payable by `:until` and not paid out, or paid out and reversed since. */
const IS_OUTSTANDING = `outstanding_cents <> 0 AND (outstanding_cents < 0 OR payable_at <= :until)
  AND is_simulated = :isSimulated`;

/** Builds the expression for the cents that an affiliate is to be paid, with the bindings `until` and `isSimulated`. */
export const buildOutstandingSum = (affiliate: string): string =>
  `(SELECT sum(outstanding_cents) FROM commissions WHERE affiliate_id = ${affiliate} AND ${IS_OUTSTANDING})`;

/** Queries the commissions of an affiliate to settle. */
export function outstandingCommissions(affiliateId: number, until: Date, transaction?: Transaction) {
  const bindings = { until, isSimulated: processor.isSimulated };
  return Commission.query(transaction).where({ affiliate_id: affiliateId }).whereRaw(IS_OUTSTANDING, bindings);
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
 * not synced lately are not paid, but their reversals are deducted. Creates none if there is nothing to pay, this month
 * has a payout already, the outcome of another payout is unknown, or the account is suspended.
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
      void synced.where('synced_at', '>', getFreshnessCutoff()).orWhere('outstanding_cents', '<', 0);
    });
    const amountCents = commissions.reduce((sum, { outstanding_cents: cents }) => sum + cents, 0);
    if (amountCents <= 0) return;
    const payout = await Payout.query(transaction).insertAndFetch({
      uuid: uuidv7(),
      affiliate_id: affiliateId,
      month,
      status: 'pending',
      amount_cents: amountCents,
      connect_account_id: processor.isSimulated ? null : affiliate.connect_account_id,
      created_at: now(),
    });
    await PayoutItem.query(transaction).insert(
      commissions.map(({ id, outstanding_cents: cents }) => ({
        payout_uuid: payout.uuid,
        commission_id: id,
        amount_cents: cents,
      })),
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
 * Transfers a payout, whose uuid is the key. A transfer to the affiliate that no payout has recorded is taken as that
 * of this one: its response was lost, or the database was restored to a time before it.
 */
export const TRANSFER_PAYOUT: TaskKind = {
  name: 'payout.transfer',
  backoff: { minMs: MINUTE_MS, maxMs: HOUR_MS },
  waiting: `SELECT affiliate_id AS account_id, cast(uuid AS text) AS key FROM payouts WHERE status = 'pending'`,
  run: async ([{ key }]) => {
    const payout = await Payout.query().findOne({ uuid: key, status: 'pending' });
    if (payout === undefined) return undefined;
    const isSimulated = payout.connect_account_id === null;
    // While payments are simulated, a real one waits: the processor may be configured again.
    if (processor.isSimulated && !isSimulated) return { runAt: addMilliseconds(now(), HOUR_MS) };
    if (isSimulated) {
      await (processor.isSimulated ? markPayoutPaid(payout, null) : releasePayout(payout, 'It was simulated.'));
      return undefined;
    }
    const { uuid: accountUuid } = await Account.query().findById(payout.affiliate_id).throwIfNotFound();
    const unrecorded = await findUnrecordedTransfer(payout.affiliate_id, accountUuid);
    if (unrecorded !== undefined) await markPayoutPaid(payout, unrecorded);
    else await requestTransfer(payout, accountUuid);
    return undefined;
  },
};

/** Finds the oldest transfer to an affiliate that no payout has recorded. */
async function findUnrecordedTransfer(
  affiliateId: number,
  accountUuid: string,
): Promise<ProcessorTransfer | undefined> {
  const transfers = await processor.listTransfers(accountUuid);
  const paid = await Payout.query().where({ affiliate_id: affiliateId }).whereNotNull('stripe_transfer_id');
  const recordedIds = new Set(paid.map((payout) => payout.stripe_transfer_id));
  return transfers.find(({ id }) => !recordedIds.has(id));
}

async function requestTransfer(payout: Payout, accountUuid: string): Promise<void> {
  const { uuid: payoutUuid, amount_cents: amountCents, connect_account_id: connectAccountId } = payout;
  const request = { payoutUuid, accountUuid, amountCents, connectAccountId: connectAccountId as string };
  try {
    await markPayoutPaid(payout, await processor.createTransfer(request));
  } catch (err) {
    if (!(err instanceof ProcessorError) || err.fault !== 'rejected') throw err;
    logger.warn({ err, payout: payoutUuid }, 'payout rejected');
    await releasePayout(payout, err.message.slice(0, 500));
  }
}

/** Adds to the largest item of a payout, which is payable, and settles as much of its commission. */
const ADJUST_ITEM = prepared(
  'adjust_payout_item',
  `WITH adjusted AS (
     UPDATE payout_items SET amount_cents = amount_cents + :cents
      WHERE payout_uuid = :payout AND commission_id = (
        SELECT commission_id FROM payout_items WHERE payout_uuid = :payout ORDER BY amount_cents DESC, commission_id LIMIT 1)
     RETURNING commission_id
   )
   UPDATE commissions c SET settled_cents = settled_cents + :cents FROM adjusted WHERE c.id = adjusted.commission_id`,
);

/**
 * Marks a payout as paid by a transfer, unless it was rejected meanwhile: then the next payout finds the transfer. One
 * that was found may be of another amount, as other commissions are known now. The difference is settled as well, so
 * that a later payout deducts or pays it.
 */
async function markPayoutPaid(payout: Payout, transfer: ProcessorTransfer | null): Promise<void> {
  const { uuid, affiliate_id: accountId, month } = payout;
  const amountCents = transfer?.amountCents ?? payout.amount_cents;
  const paidAt = now();
  await Payout.transaction(async (transaction) => {
    const marked = await Payout.query(transaction)
      .findById(uuid)
      .where({ status: 'pending' })
      .patch({
        status: 'paid',
        amount_cents: amountCents,
        connect_account_id: transfer?.connectAccountId ?? payout.connect_account_id,
        stripe_transfer_id: transfer?.id ?? null,
        completed_at: paidAt,
      });
    if (marked === 0) return;
    const cents = amountCents - payout.amount_cents;
    if (cents !== 0) await runStatement(ADJUST_ITEM, { payout: uuid, cents }, transaction);
    const details = { month, amount_cents: amountCents, paid_at: paidAt.toISOString() };
    await recordEvent(transaction, { accountId, type: 'affiliate.payout', subject: uuid, details });
  });
}

/**
 * Reads a transfer, which may have been reversed by hand at the processor.
 * @returns null unless it is that of a payout and was reversed as a whole.
 */
export async function fetchPayoutReversal(transferId: string): Promise<AccountSnapshot | null> {
  const payout = await Payout.query().findOne({ stripe_transfer_id: transferId });
  if (payout === undefined) return null;
  const { affiliate_id: accountId, uuid } = payout;
  if (await processor.isTransferReversed(transferId))
    return { accountId, problem: null, apply: (transaction) => rejectReversedPayout(transaction, uuid, transferId) };
  logger.error({ payout: uuid, transferId }, 'transfer reversed in part; the payout counts as paid in full');
  return null;
}

/** Rejects a payout whose transfer was reversed: its commissions are payable again, less any reversals since. */
async function rejectReversedPayout(transaction: Transaction, uuid: string, transferId: string): Promise<void> {
  const rejected = await Payout.query(transaction)
    .findById(uuid)
    .where({ status: 'paid' })
    .patch({
      status: 'rejected',
      stripe_transfer_id: null,
      last_error: `The transfer ${transferId} was reversed at the payment processor.`,
      completed_at: now(),
    });
  if (rejected === 1) await runStatement(ADD_SETTLED_CENTS, { payout: uuid, sign: -1 }, transaction);
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
