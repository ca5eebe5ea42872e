import { processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { utcDay } from '../../lib/calendar.ts';
import { prepared, run } from '../../lib/db.ts';
import { attempt } from '../billing/effects.ts';
import { commissionEffect } from './commissions.ts';
import { lookAtOnboardings } from './connect.ts';
import { monthStartOf, openPayout, settlePendingPayouts, transfer, unsettled } from './payouts.ts';

/** What was refused is asked for again after this time. */
const REFUSED_MS = 6 * 3_600_000;
const AT_ONCE = 200;

/** Affiliates who have something coming to them this month and were not paid yet, in the order of their ids. */
const DUE = prepared(
  'due_affiliates',
  `SELECT a.account_id AS id FROM affiliates a
    WHERE a.payout_enabled AND a.account_id > :after
      AND EXISTS (SELECT FROM commissions c WHERE c.affiliate_id = a.account_id AND c.payable_at <= :monthStart
                     AND c.amount_cents <> c.settled_cents AND c.amount_cents > c.settled_cents
                     AND c.is_simulated = :isSimulated)
      AND NOT EXISTS (SELECT FROM payouts p WHERE p.affiliate_id = a.account_id AND p.month = cast(:month AS date)
                         AND (p.status <> 'refused' OR p.completed_at > :refusedAfter))
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
      isSimulated: processor === null,
      refusedAfter: addMilliseconds(now(), -REFUSED_MS),
    });
    for (const { id } of due) await attempt(() => pay(id, monthStart));
    if (due.length < AT_ONCE) return;
    after = due.at(-1)?.id as number;
  }
}

/** Each invoice is looked at once more before it is paid for: what was refunded in the meantime is not paid at all. */
async function pay(affiliateId: number, monthStart: Date): Promise<null> {
  if (processor !== null) {
    for (const { invoice_id: invoiceId } of await unsettled(affiliateId, monthStart)) {
      // While it cannot be looked at, nobody is paid for it, and the next run begins anew.
      if (!(await attempt(() => commissionEffect(invoiceId)))) return null;
    }
  }
  const payout = await openPayout(affiliateId);
  if (payout !== undefined) await transfer(payout);
  return null;
}
