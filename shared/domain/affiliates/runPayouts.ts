import { processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { formatUtcDay } from '../../lib/calendar.ts';
import { prepared, runStatement } from '../../lib/db.ts';
import { tryApply } from '../billing/accountChanges.ts';
import { fetchCommissionChange } from './commissions.ts';
import { syncPendingOnboardings } from './payoutAccounts.ts';
import {
  recoverRejectedTransfer,
  getFreshnessCutoff,
  getMonthStart,
  createPayout,
  retryPendingPayouts,
  transferPayout,
  outstandingCommissions,
} from './payouts.ts';

/** What was refused is asked for again after this time. */
const REJECTED_RETRY_MS = 6 * 3_600_000;
const BATCH_SIZE = 200;

/** Affiliates who have something coming to them this month, all in all, and were not paid yet, in the order of their ids. */
const DUE_AFFILIATES = prepared(
  'due_affiliates',
  `SELECT a.account_id AS id FROM affiliates a
    WHERE a.payout_enabled AND a.account_id > :after
      AND (SELECT sum(c.amount_cents - c.settled_cents) FROM commissions c
            WHERE c.affiliate_id = a.account_id AND c.amount_cents <> c.settled_cents
              AND (c.payable_at <= :monthStart OR c.amount_cents < c.settled_cents)
              AND c.is_simulated = :isSimulated) > 0
      AND NOT EXISTS (SELECT FROM payouts p WHERE p.affiliate_id = a.account_id AND p.month = cast(:month AS date)
                         AND (p.status <> 'refused' OR p.completed_at > :refusedAfter))
      AND NOT EXISTS (SELECT FROM payouts p WHERE p.affiliate_id = a.account_id AND p.status = 'pending')
    ORDER BY a.account_id LIMIT ${BATCH_SIZE}`,
);

/**
 * Pays affiliates what was payable at the beginning of the month, once a month each (docs/decisions.md: Affiliates).
 * Those whose payouts are enabled later are paid then.
 */
export async function runPayouts(): Promise<void> {
  await retryPendingPayouts();
  await syncPendingOnboardings();
  const monthStart = getMonthStart(now());
  for (let after = 0; ; ) {
    const due = await runStatement<{ id: number }>(DUE_AFFILIATES, {
      after,
      monthStart,
      month: formatUtcDay(monthStart),
      isSimulated: processor.isSimulated,
      refusedAfter: addMilliseconds(now(), -REJECTED_RETRY_MS),
    });
    for (const { id } of due) await tryApply(() => payAffiliate(id, monthStart));
    if (due.length < BATCH_SIZE) return;
    after = due.at(-1)?.id as number;
  }
}

async function payAffiliate(affiliateId: number, monthStart: Date): Promise<null> {
  if (!(await syncOutstandingInvoices(affiliateId, monthStart))) return null;
  await recoverRejectedTransfer(affiliateId);
  const payout = await createPayout(affiliateId);
  if (payout !== undefined) await transferPayout(payout);
  return null;
}

/** So long a payout waits for an invoice that cannot be looked at; then it goes without it. */
const SYNC_WAIT_MS = 86_400_000;
/** As many failures in a row mean that it is not the invoice's fault. */
const MAX_CONSECUTIVE_FAILURES = 3;

const RECORD_SYNC_FAILURE = prepared(
  'record_invoice_sync_failure',
  `UPDATE commissions SET sync_failing_since = coalesce(sync_failing_since, :now)
    WHERE id = :id AND synced_at <= :freshSince RETURNING id`,
);

/**
 * Each invoice is looked at once more before it is paid for: what was refunded in the meantime is not paid at all. What
 * was looked at already stays so for the next run, in some minutes.
 * @returns whether what could be looked at by now is to be paid.
 */
async function syncOutstandingInvoices(affiliateId: number, monthStart: Date): Promise<boolean> {
  const stale = () => outstandingCommissions(affiliateId, monthStart).where('synced_at', '<=', getFreshnessCutoff());
  let failures = 0;
  // Those that failed before come last, and do not keep the others from being looked at.
  for (const { id, invoice_id: invoiceId } of await stale().orderByRaw('sync_failing_since DESC NULLS FIRST, id')) {
    await tryApply(() => fetchCommissionChange(invoiceId));
    // Also where the processor knows no such invoice any more, or none that earns.
    const failing = await runStatement(RECORD_SYNC_FAILURE, { id, now: now(), freshSince: getFreshnessCutoff() });
    failures = failing.length === 0 ? 0 : failures + 1;
    if (failures === MAX_CONSECUTIVE_FAILURES) break;
  }
  const waitDeadline = addMilliseconds(now(), -SYNC_WAIT_MS);
  const waiting = stale().where((recent) => {
    void recent.whereNull('sync_failing_since').orWhere('sync_failing_since', '>', waitDeadline);
  });
  return (await waiting.first()) === undefined;
}
