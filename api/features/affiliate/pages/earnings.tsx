import type { VNode } from 'preact';
import { now } from '../../../../shared/lib/clock.ts';
import type { Commission } from '../../../../shared/tables/Commission.ts';
import type { Payout } from '../../../../shared/tables/Payout.ts';
import { formatUsd } from '../../../web/components/formatAmount.ts';
import { formatDate } from '../../../web/components/formatTime.ts';
import { Table } from '../../../web/components/table.tsx';

const PAYOUT_STATUSES: Record<Payout['status'], string> = {
  pending: 'In progress',
  paid: 'Paid',
  rejected: 'Not paid; included in a later payout',
};

/** The latest commissions. They do not name the customer. */
export function CommissionsSection({ commissions }: { commissions: Commission[] }): VNode {
  return (
    <section class="card" aria-labelledby="commissions">
      <h2 id="commissions">Latest commissions</h2>
      {commissions.length === 0 ? (
        <p>None. A commission appears here when a customer of your link has paid.</p>
      ) : (
        <Table
          label="Commissions"
          columns={['Payment on', 'Status', 'Commission']}
          numeric={['Commission']}
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
      <h2 id="payouts">Latest payouts</h2>
      {payouts.length === 0 ? (
        <p>None. Payouts appear here at the beginning of a month in which commissions are payable.</p>
      ) : (
        <Table
          label="Payouts"
          columns={['Date', 'Status', 'Amount']}
          numeric={['Amount']}
          rows={payouts.map((payout) => [
            formatDate(payout.created_at),
            PAYOUT_STATUSES[payout.status],
            formatUsd(payout.amount_cents),
          ])}
        />
      )}
    </section>
  );
}

function describeCommission(commission: Commission): string {
  const { amount_cents: cents, settled_cents: settled, reversed_cents: reversed, payable_at: payableAt } = commission;
  if (cents === 0 && reversed > 0) return 'Refunded';
  const refund = reversed > 0 ? ', partly refunded' : '';
  if (settled === cents) return `In a payout${refund}`;
  return payableAt > now() ? `Payable from ${formatDate(payableAt)}${refund}` : `Payable${refund}`;
}
