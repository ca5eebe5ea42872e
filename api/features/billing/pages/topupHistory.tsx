import type { VNode } from 'preact';
import { getNetCents, getTotalCents } from '../../../../shared/domain/billing/topupAmounts.ts';
import type { ListedTopup } from '../../../../shared/domain/billing/topups.ts';
import { formatNumber, formatUsd } from '../../../web/components/formatAmount.ts';
import { formatDate } from '../../../web/components/formatTime.ts';
import { Table } from '../../../web/components/table.tsx';
import { t as shared } from '../../../web/texts.ts';
import { STATUSES, TOPUP as t } from './texts.ts';

/** The latest top-ups, with those that wait for their payment. */
export function TopupHistory({ topups }: { topups: ListedTopup[] }): VNode | null {
  if (topups.length === 0) return null;
  const numeric = [shared.amount(), shared.credits(), t.left()];
  return (
    <section class="card" aria-labelledby="topups">
      <h2 id="topups">{t.latest()}</h2>
      <Table
        label={t.topups()}
        columns={[shared.date(), t.kind(), shared.status(), ...numeric]}
        numeric={numeric}
        rows={topups.map((topup) => [
          formatDate(topup.created_at),
          topup.kind === 'automatic' ? t.automatic() : t.manual(),
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
  if (isDisputed) return STATUSES.disputed();
  if (reversedCents > 0)
    return reversedCents >= cents ? STATUSES.refunded() : STATUSES.partlyRefunded({ amount: formatUsd(reversedCents) });
  return { pending: STATUSES.pending, succeeded: STATUSES.paid, failed: STATUSES.notPaid }[status]();
}
