import type { VNode } from 'preact';
import { getNetCents, getTotalCents } from '../../../shared/domain/billing/topupAmounts.ts';
import type { Topup } from '../../../shared/tables/Topup.ts';
import { formatNumber, formatUsd } from '../components/formatAmount.ts';
import { formatDate } from '../components/formatTime.ts';

/** The latest top-ups, with those that wait for their payment. */
export function TopupHistory({ topups }: { topups: Topup[] }): VNode | null {
  if (topups.length === 0) return null;
  return (
    <section class="card" aria-labelledby="topups">
      <h2 id="topups">Latest top-ups</h2>
      <div class="scrolls wide" tabIndex={0} role="region" aria-labelledby="topups">
        <table>
          <thead>
            <tr>
              <th scope="col">Date</th>
              <th scope="col">Kind</th>
              <th scope="col">Status</th>
              <th scope="col" class="number">
                Amount
              </th>
              <th scope="col" class="number">
                Credits
              </th>
            </tr>
          </thead>
          <tbody>
            {topups.map((topup) => (
              <tr>
                <td>{formatDate(topup.created_at)}</td>
                <td>{topup.kind === 'automatic' ? 'Automatic' : 'Manual'}</td>
                <td>{describeStatus(topup)}</td>
                <td class="number">{formatUsd(getTotalCents(topup))}</td>
                <td class="number">{formatNumber(topup.credits)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
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
