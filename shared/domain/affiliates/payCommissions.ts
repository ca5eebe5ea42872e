import { processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { utcDay } from '../../lib/calendar.ts';
import { prepared, run } from '../../lib/db.ts';
import { attempt } from '../billing/effects.ts';
import { commissionEffect } from './commissions.ts';
import { lookAtOnboardings } from './connect.ts';
import {
  findRefusedTransfer,
  freshSince,
  monthStartOf,
  openPayout,
  settlePendingPayouts,
  transfer,
  unsettled,
} from './payouts.ts';

/** What was refused is asked for again after this time. */
const REFUSED_MS = 6 * 3_600_000;
const AT_ONCE = 200;

/** Affiliates who have something coming to them this month, all in all, and were not paid yet, in the order of their ids. */
const DUE = prepared(
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
    ORDER BY a.account_id LIMIT ${AT_ONCE}`,
);

/**
 * Pays affiliates what was payable at the beginning of the month, once a month each (docs/decisions.md: Affiliates).
 * Those whose payouts are enabled later are paid then.
 */
export async function payCommissions(): Promise<void> {
  await settlePendingPayouts();
  await lookAtOnboardings();
  const monthStart = monthStartOf(now());
  for (let after = 0; ; ) {
    const due = await run<{ id: number }>(DUE, {
      after,
      monthStart,
      month: utcDay(monthStart),
      isSimulated: processor.isSimulated,
      refusedAfter: addMilliseconds(now(), -REFUSED_MS),
    });
    for (const { id } of due) await attempt(() => pay(id, monthStart));
    if (due.length < AT_ONCE) return;
    after = due.at(-1)?.id as number;
  }
}

async function pay(affiliateId: number, monthStart: Date): Promise<null> {
  if (!(await lookAtInvoices(affiliateId, monthStart))) return null;
  await findRefusedTransfer(affiliateId);
  const payout = await openPayout(affiliateId);
  if (payout !== undefined) await transfer(payout);
  return null;
}

/** So long a payout waits for an invoice that cannot be looked at; then it goes without it. */
const WAIT_MS = 86_400_000;
/** As many failures in a row mean that it is not the invoice's fault. */
const FAILURES = 3;

const FAILS = prepared(
  'invoice_look_fails',
  `UPDATE commissions SET failing_since = coalesce(failing_since, :now)
    WHERE id = :id AND (looked_at IS NULL OR looked_at <= :freshSince) RETURNING id`,
);

/**
 * Each invoice is looked at once more before it is paid for: what was refunded in the meantime is not paid at all. What
 * was looked at already stays so for the next run, in some minutes.
 * @returns whether what could be looked at by now is to be paid.
 */
async function lookAtInvoices(affiliateId: number, monthStart: Date): Promise<boolean> {
  const stale = () =>
    unsettled(affiliateId, monthStart).where((old) => {
      void old.whereNull('looked_at').orWhere('looked_at', '<=', freshSince());
    });
  let failures = 0;
  // Those that failed before come last, and do not keep the others from being looked at.
  for (const { id, invoice_id: invoiceId } of await stale().orderByRaw('failing_since DESC NULLS FIRST, id')) {
    await attempt(() => commissionEffect(invoiceId));
    // Also where the processor knows no such invoice any more, or none that earns.
    const failing = await run(FAILS, { id, now: now(), freshSince: freshSince() });
    failures = failing.length === 0 ? 0 : failures + 1;
    if (failures === FAILURES) break;
  }
  const waited = addMilliseconds(now(), -WAIT_MS);
  const waiting = stale().where((young) => {
    void young.whereNull('failing_since').orWhere('failing_since', '>', waited);
  });
  return (await waiting.first()) === undefined;
}
