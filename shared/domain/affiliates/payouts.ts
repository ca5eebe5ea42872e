import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { processor, ProcessorError } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { formatUtcDay } from '../../lib/calendar.ts';
import { isDuplicate, prepared, runStatement } from '../../lib/db.ts';
import { logger } from '../../lib/logger.ts';
import { Affiliate } from '../../tables/Affiliate.ts';
import { Commission } from '../../tables/Commission.ts';
import { Payout } from '../../tables/Payout.ts';
import { PayoutItem } from '../../tables/PayoutItem.ts';
import { tryApply } from '../billing/accountChanges.ts';
import { fetchPayoutAccountChange } from './payoutAccounts.ts';

/** The first moment of the month (UTC): what is payable by then is paid in it. */
export function getMonthStart(moment: Date): Date {
  return new Date(Date.UTC(moment.getUTCFullYear(), moment.getUTCMonth(), 1));
}

/** What is neither paid nor on its way, of one affiliate: earned by then, or paid and to be taken off again. */
export function outstandingCommissions(affiliateId: number, until: Date, transaction?: Transaction) {
  return Commission.query(transaction)
    .where({ affiliate_id: affiliateId, is_simulated: processor.isSimulated })
    .whereColumn('amount_cents', '<>', 'settled_cents')
    .where((due) => {
      void due.where('payable_at', '<=', until).orWhereColumn('amount_cents', '<', 'settled_cents');
    });
}

/** What was looked at within this time is not looked at again before it is paid for. */
const SYNC_FRESHNESS_MS = 6 * 3_600_000;

/**
 * The moment since when a look is good enough to pay for what it has seen. What is simulated never changes: there any
 * look is.
 */
export function getFreshnessCutoff(): Date {
  return processor.isSimulated ? new Date(0) : addMilliseconds(now(), -SYNC_FRESHNESS_MS);
}

/** Left for a moment to whoever has written it, before somebody else takes it up. */
const RETRY_GRACE_MS = 60_000;

const ADD_SETTLED_CENTS = prepared(
  'settle_commissions',
  `UPDATE commissions c SET settled_cents = c.settled_cents + :sign * i.amount_cents
     FROM payout_items i WHERE i.payout_uuid = :payout AND c.id = i.commission_id`,
);

/**
 * Writes down what an affiliate is to be paid this month, before anybody is asked for it. What was refunded since it
 * was paid is taken off; where that is more than there is, nothing is paid, and the rest is carried. What was not looked
 * at of late is not paid, but taken off it is.
 * @returns undefined where there is nothing to pay, this month's is written already, or the outcome of another payout is
 * unknown.
 */
export async function createPayout(affiliateId: number): Promise<Payout | undefined> {
  const monthStart = getMonthStart(now());
  const month = formatUtcDay(monthStart);
  return Affiliate.transaction(async (transaction) => {
    const affiliate = await Affiliate.query(transaction).findById(affiliateId).forNoKeyUpdate().throwIfNotFound();
    if (!canReceivePayouts(affiliate)) return undefined;
    // While the outcome of one is unknown, of whichever month, another could hold back what that one may return.
    const before = Payout.query(transaction)
      .where({ affiliate_id: affiliateId })
      .where((other) => {
        void other.where({ status: 'pending' }).orWhere((paid) => {
          void paid.where({ month }).whereNot({ status: 'refused' });
        });
      });
    if ((await before.first()) !== undefined) return undefined;
    const due = outstandingCommissions(affiliateId, monthStart, transaction).orderBy('id').forNoKeyUpdate();
    const commissions = await due.where((synced) => {
      void synced.where('synced_at', '>', getFreshnessCutoff()).orWhereColumn('amount_cents', '<', 'settled_cents');
    });
    const items = commissions.map((row) => ({ id: row.id, cents: row.amount_cents - row.settled_cents }));
    const amountCents = items.reduce((sum, { cents }) => sum + cents, 0);
    if (amountCents <= 0) return undefined;
    const payout = await Payout.query(transaction).insertAndFetch({
      uuid: uuidv7(),
      affiliate_id: affiliateId,
      month,
      status: 'pending',
      amount_cents: amountCents,
      connect_account_id: affiliate.connect_account_id,
      next_attempt_at: addMilliseconds(now(), RETRY_GRACE_MS),
      created_at: now(),
    });
    await PayoutItem.query(transaction).insert(
      items.map(({ id, cents }) => ({ payout_uuid: payout.uuid, commission_id: id, amount_cents: cents })),
    );
    await runStatement(ADD_SETTLED_CENTS, { payout: payout.uuid, sign: 1 }, transaction);
    return payout;
  });
}

/** Whether payouts may be made; those that were simulated say nothing about a real account. */
export function canReceivePayouts({ payout_enabled: isEnabled, connect_account_id: id }: Affiliate): boolean {
  return isEnabled && (processor.isSimulated || id !== null);
}

/**
 * Has the processor transfer a payout, under a key of its own. Where nobody knows what came of it, it stays pending,
 * and is looked for before it is asked for again.
 */
export async function transferPayout(payout: Payout): Promise<void> {
  const { uuid: payoutUuid, amount_cents: amountCents, connect_account_id: connectAccountId } = payout;
  const request = { payoutUuid, amountCents, connectAccountId: connectAccountId as string };
  try {
    await markPayoutPaid(payout, await processor.createTransfer(request));
  } catch (error) {
    if (!(error instanceof ProcessorError)) throw error;
    const problem = error.message.slice(0, 500);
    logger.warn({ payout: payoutUuid, fault: error.fault, problem }, 'a payout is not made yet');
    if (error.fault === 'refused') return releasePayout(payout, problem);
    await Payout.query().findById(payoutUuid).where({ status: 'pending' }).patch({ problem });
  }
}

async function markPayoutPaid(payout: Payout, transferId: string | null): Promise<void> {
  const paid = { status: 'paid', stripe_transfer_id: transferId, problem: null, completed_at: now() } as const;
  const marked = await Payout.query().findById(payout.uuid).where({ status: 'pending' }).patch(paid);
  if (marked === 0 && transferId !== null) await reinstatePayout(payout, transferId, paid);
}

/**
 * Somebody else had taken the payout up and was refused, while the money moved: it holds its commissions again. Where
 * another payout holds them by now, more is settled of them than was earned, which is taken off the next ones.
 */
async function reinstatePayout(
  { uuid, affiliate_id: affiliateId }: Payout,
  transferId: string,
  paid: Partial<Payout>,
): Promise<void> {
  try {
    await Payout.transaction(async (transaction) => {
      await Affiliate.query(transaction).findById(affiliateId).forNoKeyUpdate();
      const again = await Payout.query(transaction).findById(uuid).where({ status: 'refused' }).patch(paid);
      if (again === 0) return;
      await runStatement(ADD_SETTLED_CENTS, { payout: uuid, sign: 1 }, transaction);
      logger.warn({ payout: uuid, transferId }, 'a payout that was refused is made after all');
    });
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    const what = 'a payout that was refused is made after all, and its month has another one: reverse this transfer';
    logger.error({ payout: uuid, affiliateId, transferId }, what);
  }
}

/**
 * Looks once more for the transfer of an affiliate's last refused payout, before another one is opened. Two workers may
 * have asked for it at a time: one was refused, and the other succeeded and died before it could say so.
 * @throws ProcessorError while the processor cannot be asked.
 */
export async function recoverRejectedTransfer(affiliateId: number): Promise<void> {
  const last = await Payout.query()
    .where({ affiliate_id: affiliateId, status: 'refused' })
    .orderBy('completed_at', 'desc')
    .first();
  if (last === undefined) return;
  const made = await processor.findTransfer(last.uuid, addMilliseconds(last.created_at, -CLOCK_SKEW_MS));
  if (made !== null) await markPayoutPaid(last, made);
}

/** No money has moved: what it held is payable again, with whatever has become of it since. */
async function releasePayout({ uuid, connect_account_id: connectAccountId }: Payout, problem: string): Promise<void> {
  await Payout.transaction(async (transaction) => {
    const refused = await Payout.query(transaction)
      .findById(uuid)
      .where({ status: 'pending' })
      .patch({ status: 'refused', problem, completed_at: now() });
    if (refused === 1) await runStatement(ADD_SETTLED_CENTS, { payout: uuid, sign: -1 }, transaction);
  });
  // It may be the affiliate's account that cannot take it any more.
  if (connectAccountId !== null) await tryApply(() => fetchPayoutAccountChange(connectAccountId));
}

const BATCH_SIZE = 200;
/** The processor's clock may differ from ours by so much. */
const CLOCK_SKEW_MS = 600_000;
const RETRY_BACKOFF_MS = { min: 60_000, max: 3_600_000 };

/** Takes up payouts of which nobody knows whether they were made: looked for first, and asked for again if not. */
export async function retryPendingPayouts(): Promise<void> {
  const pending = await Payout.query()
    .where({ status: 'pending' })
    .where('next_attempt_at', '<=', now())
    .orderBy('next_attempt_at')
    .limit(BATCH_SIZE);
  for (const payout of pending) {
    const ageMs = now().getTime() - payout.created_at.getTime();
    const waitMs = Math.min(RETRY_BACKOFF_MS.max, Math.max(RETRY_BACKOFF_MS.min, ageMs / 4));
    const next_attempt_at = addMilliseconds(now(), waitMs);
    await Payout.query().findById(payout.uuid).where({ status: 'pending' }).patch({ next_attempt_at });
    await tryApply(async () => {
      const since = addMilliseconds(payout.created_at, -CLOCK_SKEW_MS);
      const made = await processor.findTransfer(payout.uuid, since);
      if (made !== null) await markPayoutPaid(payout, made);
      else await transferPayout(payout);
      return null;
    });
  }
}
