import type { VNode } from 'preact';
import { getNetCents, getTotalCents } from '../../../shared/domain/billing/topupAmounts.ts';
import type { Topup } from '../../../shared/tables/Topup.ts';
import { formatNumber, formatUsd } from '../components/formatAmount.ts';
import { formatDate } from '../components/formatTime.ts';
import { ScrollingTable } from '../components/scrollingTable.tsx';

/** The latest top-ups, with those that wait for their payment. */
export function TopupHistory({ topups }: { topups: Topup[] }): VNode | null {
  if (topups.length === 0) return null;
  return (
    <section class="card" aria-labelledby="topups">
      <h2 id="topups">Latest top-ups</h2>
      <ScrollingTable label="Top-ups" columns={['Date', 'Kind', 'Status', 'Amount', 'Credits']} numbers={2}>
        {topups.map((topup) => (
          <tr key={topup.uuid}>
            <td>{formatDate(topup.created_at)}</td>
            <td>{topup.kind === 'automatic' ? 'Automatic' : 'Manual'}</td>
            <td>{describeStatus(topup)}</td>
            <td class="number">{formatUsd(getTotalCents(topup))}</td>
            <td class="number">{formatNumber(topup.credits)}</td>
          </tr>
        ))}
      </ScrollingTable>
    </section>
  );
}

function describeStatus(topup: Topup): string {
  const { status, is_disputed: isDisputed, reversed_cents: reversedCents } = topup;
  const cents = getNetCents(topup);
  if (isDisputed) return 'Disputed';
  if (reversedCents > 0) return reversedCents >= cents ? 'Refunded' : `${formatUsd(reversedCents)} refunded`;
  return { pending: 'Waiting for payment', succeeded: 'Paid', failed: 'Not paid' }[status];
}
