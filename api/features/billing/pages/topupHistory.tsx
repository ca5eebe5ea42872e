import type { VNode } from 'preact';
import { getNetCents, getTotalCents } from '../../../../shared/domain/billing/topupAmounts.ts';
import type { ListedTopup } from '../../../../shared/domain/billing/topups.ts';
import { formatNumber, formatUsd } from '../../../web/components/formatAmount.ts';
import { formatDate } from '../../../web/components/formatTime.ts';
import { Table } from '../../../web/components/table.tsx';

/** The latest top-ups, with those that wait for their payment. */
export function TopupHistory({ topups }: { topups: ListedTopup[] }): VNode | null {
  if (topups.length === 0) return null;
  return (
    <section class="card" aria-labelledby="topups">
      <h2 id="topups">Latest top-ups</h2>
      <Table
        label="Top-ups"
        columns={['Date', 'Kind', 'Status', 'Amount', 'Credits', 'Left']}
        numeric={['Amount', 'Credits', 'Left']}
        rows={topups.map((topup) => [
          formatDate(topup.created_at),
          topup.kind === 'automatic' ? 'Automatic' : 'Manual',
          describeStatus(topup),
          formatUsd(getTotalCents(topup)),
          formatNumber(topup.credits),
          topup.remainder === null ? '' : formatNumber(topup.remainder),
        ])}
      />
    </section>
  );
}

function describeStatus(topup: ListedTopup): string {
  const { status, is_disputed: isDisputed, reversed_cents: reversedCents } = topup;
  const cents = getNetCents(topup);
  if (isDisputed) return 'Disputed';
  if (reversedCents > 0) return reversedCents >= cents ? 'Refunded' : `${formatUsd(reversedCents)} refunded`;
  return { pending: 'Waiting for payment', succeeded: 'Paid', failed: 'Not paid' }[status];
}
