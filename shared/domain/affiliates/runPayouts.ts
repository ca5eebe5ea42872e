import { processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { formatUtcDay } from '../../lib/calendar.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { trySync } from '../payments/processorErrors.ts';
import { syncCommission } from './commissions.ts';
import { syncPendingOnboardings } from './payoutAccounts.ts';
import {
  buildOutstandingSum,
  createPayout,
  getFreshnessCutoff,
  getMonthStart,
  outstandingCommissions,
} from './payouts.ts';
import { DAY_MS, HOUR_MS } from '../../spec/durations.ts';

/** After a payout of any month was rejected, another one is tried after this time. */
const REJECTED_RETRY_MS = 6 * HOUR_MS;
const BATCH_SIZE = 200;

/** Affiliates with a positive balance this month, no payout of it, and none that is pending or was just rejected. */
const DUE_AFFILIATES = prepared(
  'due_affiliates',
  `SELECT a.account_id AS id FROM affiliates a JOIN accounts owner ON owner.id = a.account_id
    WHERE owner.suspended_at IS NULL AND a.payout_enabled AND a.account_id > :after
      AND ${buildOutstandingSum('a.account_id')} > 0
      AND NOT EXISTS (SELECT FROM payouts p WHERE p.affiliate_id = a.account_id
                         AND (p.status = 'pending' OR (p.status = 'paid' AND p.month = cast(:month AS date))
                              OR (p.status = 'rejected' AND p.completed_at > :rejectedAfter)))
    ORDER BY a.account_id LIMIT ${BATCH_SIZE}`,
);

/**
 * Pays affiliates the commissions that were payable at the start of the month, once a month each
 * (docs/decisions.md: Affiliates). Affiliates whose payouts are enabled later are paid then.
 */
export async function runPayouts(): Promise<void> {
  await syncPendingOnboardings();
  const monthStart = getMonthStart(now());
  for (let after = 0; ; ) {
    const due = await runStatement<{ id: number }>(DUE_AFFILIATES, {
      after,
      until: monthStart,
      month: formatUtcDay(monthStart),
      isSimulated: processor.isSimulated,
      rejectedAfter: addMilliseconds(now(), -REJECTED_RETRY_MS),
    });
    for (const { id } of due) await trySync(() => payAffiliate(id, monthStart));
    if (due.length < BATCH_SIZE) return;
    after = due.at(-1)?.id as number;
  }
}

async function payAffiliate(affiliateId: number, monthStart: Date): Promise<void> {
  if (!(await syncOutstandingInvoices(affiliateId, monthStart))) return;
  await createPayout(affiliateId);
}

/** A payout waits this long for an invoice that cannot be synced; then it is created without it. */
const SYNC_WAIT_MS = DAY_MS;
/** After this many failures in a row, the cause is not the invoice. */
const MAX_CONSECUTIVE_FAILURES = 3;

const RECORD_SYNC_FAILURE = prepared(
  'record_invoice_sync_failure',
  `UPDATE commissions SET sync_failing_since = coalesce(sync_failing_since, :now)
    WHERE id = :id AND synced_at <= :freshSince RETURNING id`,
);

/**
 * Syncs each outstanding invoice before its commission is paid out, so that refunded ones are not paid. Invoices that
 * were synced are not synced again by the next run, some minutes later.
 * @returns whether the payout can be created now.
 */
async function syncOutstandingInvoices(affiliateId: number, monthStart: Date): Promise<boolean> {
  const stale = () => outstandingCommissions(affiliateId, monthStart).where('synced_at', '<=', getFreshnessCutoff());
  let failures = 0;
  // Invoices that failed before come last, and do not block the others.
  for (const { id, invoice_id: invoiceId } of await stale().orderByRaw('sync_failing_since DESC NULLS FIRST, id')) {
    await trySync(() => syncCommission(invoiceId));
    // Records a failure also if the invoice no longer exists or earns nothing.
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
