import type { VNode } from 'preact';
import { now } from '../../../../shared/lib/clock.ts';
import type { Commission } from '../../../../shared/tables/Commission.ts';
import type { Payout } from '../../../../shared/tables/Payout.ts';
import { formatUsd } from '../../../web/components/formatAmount.ts';
import { formatDate } from '../../../web/components/formatTime.ts';
import { Table } from '../../../web/components/table.tsx';
import { t as shared } from '../../../web/texts.ts';
import { EARNINGS as t } from './texts.ts';

/** The latest commissions. They do not name the customer. */
export function CommissionsSection({ commissions }: { commissions: Commission[] }): VNode {
  return (
    <section class="card" aria-labelledby="commissions">
      <h2 id="commissions">{t.latestCommissions()}</h2>
      {commissions.length === 0 ? (
        <p>{t.noCommissions()}</p>
      ) : (
        <Table
          label={t.commissions()}
          columns={[t.paymentOn(), shared.status(), t.commission()]}
          numeric={[t.commission()]}
          rows={commissions.map((commission) => [
            formatDate(commission.paid_at),
            describeCommission(commission),
            formatUsd(commission.amount_cents),
          ])}
        />
      )}
    </section>
  );
}

/** The latest payouts. */
export function PayoutsSection({ payouts }: { payouts: Payout[] }): VNode {
  return (
    <section class="card" aria-labelledby="payouts">
      <h2 id="payouts">{t.latestPayouts()}</h2>
      {payouts.length === 0 ? (
        <p>{t.noPayouts()}</p>
      ) : (
        <Table
          label={t.payouts()}
          columns={[shared.date(), shared.status(), shared.amount()]}
          numeric={[shared.amount()]}
          rows={payouts.map((payout) => [
            formatDate(payout.created_at),
            t[payout.status](),
            formatUsd(payout.amount_cents),
          ])}
        />
      )}
    </section>
  );
}

function describeCommission(commission: Commission): string {
  const { amount_cents: cents, outstanding_cents: outstanding, payable_at: payableAt } = commission;
  const refund = commission.reversed_cents === 0 ? 'none' : cents === 0 ? 'full' : 'partial';
  if (outstanding < 0) return t.overpaid({ refund, amount: formatUsd(-outstanding) });
  if (refund === 'full') return t.refunded();
  if (outstanding === 0) return t.inPayout({ refund });
  // A part was paid out before a dispute was won, or a refund failed.
  if (outstanding !== cents) return t.partPayable({ refund, amount: formatUsd(outstanding) });
  return payableAt > now() ? t.payableFrom({ date: formatDate(payableAt), refund }) : t.payable({ refund });
}
