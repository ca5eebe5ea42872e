import type { VNode } from 'preact';
import { now } from '../../../../shared/lib/clock.ts';
import type { Commission } from '../../../../shared/tables/Commission.ts';
import type { Payout } from '../../../../shared/tables/Payout.ts';
import { formatUsd } from '../../../web/components/formatAmount.ts';
import { formatDate } from '../../../web/components/formatTime.ts';
import { Table } from '../../../web/components/table.tsx';
import { t as shared } from '../../../web/texts.ts';
import { Section } from '../../../web/components/section.tsx';
import { EARNINGS as t } from './texts.ts';

/** The latest commissions. They do not name the customer. */
export function CommissionsSection({ commissions }: { commissions: Commission[] }): VNode {
  return (
    <Section id="commissions" title={t.latestCommissions()}>
      <Table
        label={t.commissions()}
        columns={[t.paymentOn(), shared.status(), t.commission()]}
        numeric={[t.commission()]}
        empty={t.noCommissions()}
        rows={commissions.map((commission) => [
          formatDate(commission.paid_at),
          describeCommission(commission),
          formatUsd(commission.amount_cents),
        ])}
      />
    </Section>
  );
}

/** The latest payouts. */
export function PayoutsSection({ payouts }: { payouts: Payout[] }): VNode {
  return (
    <Section id="payouts" title={t.latestPayouts()}>
      <Table
        label={t.payouts()}
        columns={[shared.date(), shared.status(), shared.amount()]}
        numeric={[shared.amount()]}
        empty={t.noPayouts()}
        rows={payouts.map((payout) => [
          formatDate(payout.created_at),
          t[payout.status](),
          formatUsd(payout.amount_cents),
        ])}
      />
    </Section>
  );
}

function describeCommission(commission: Commission): string {
  const { amount_cents: cents, settled_cents: settled, reversed_cents: reversed, payable_at: payableAt } = commission;
  const refund = reversed === 0 ? 'none' : cents === 0 ? 'full' : 'partial';
  if (settled > cents) return t.overpaid({ refund, amount: formatUsd(settled - cents) });
  if (refund === 'full') return t.refunded();
  if (settled === cents) return t.inPayout({ refund });
  return payableAt > now() ? t.payableFrom({ date: formatDate(payableAt), refund }) : t.payable({ refund });
}
