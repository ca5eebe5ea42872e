import type { VNode } from 'preact';
import { getTotalCents } from '../../../../../shared/domain/billing/topupAmounts.ts';
import { isRefundable } from '../../../../../shared/domain/billing/owedRefunds.ts';
import type { Topup } from '../../../../../shared/tables/Topup.ts';
import { formatMoney, formatNumber, formatUsd } from '../../../../web/components/formatAmount.ts';
import { mayUse } from '../../../../web/components/areaPage.tsx';
import { Table } from '../../../../web/components/table.tsx';
import { Time } from '../../../../web/components/time.tsx';
import { Section } from '../../../../web/components/section.tsx';
import { Parts } from '../sections.tsx';
import type { SectionProps } from './profile.tsx';

/** Top-ups, refunds, invoices, and events of the payment processor that are not processed. */
export function PaymentSection({ overview, ctx }: SectionProps): VNode {
  const { topups, refunds, invoices, events } = overview;
  const mayRefund = mayUse(ctx, 'refundTopups');
  const requested = new Set(refunds.map(({ topup_uuid: uuid }) => uuid));
  const renderAction = (topup: Topup) =>
    mayRefund && isRefundable(topup) && !requested.has(topup.uuid) ? (
      <a class="button slight" href={`/admin/topups/${topup.uuid}/refund/`} aria-label={`Refund top-up ${topup.uuid}`}>
        Refund
      </a>
    ) : (
      ''
    );
  const topupTable = (
    <Table
      label="Top-ups"
      columns={[
        'Top-up',
        'Kind',
        'Status',
        'Amount',
        'Credits',
        'Left',
        'Refunded or disputed, without tax',
        'Payment',
        'Created',
        'Action',
      ]}
      numeric={['Amount', 'Credits', 'Left', 'Refunded or disputed, without tax']}
      rows={topups.map((topup) => [
        topup.uuid,
        topup.kind,
        topup.failure_code === null ? topup.status : `${topup.status}: ${topup.failure_code}`,
        formatUsd(getTotalCents(topup)),
        formatNumber(topup.credits),
        topup.remainder === null ? '' : formatNumber(topup.remainder),
        `${formatUsd(topup.reversed_cents)}${topup.is_disputed ? ', disputed' : ''}`,
        topup.stripe_payment_intent_id ?? 'none',
        <Time at={topup.created_at} />,
        renderAction(topup),
      ])}
    />
  );
  const refundTable = (
    <Table
      label="Refunds"
      columns={['Of', 'Status', 'Problem', 'Created', 'Action']}
      rows={refunds.map((refund) => [
        refund.payment,
        refund.status,
        refund.last_error ?? '',
        <Time at={refund.created_at} />,
        mayRefund && refund.status === 'rejected' ? (
          <a
            class="button slight"
            href={`/admin/refunds/${refund.key}/close/`}
            aria-label={`Close the refund of ${refund.payment}`}
          >
            Close
          </a>
        ) : (
          ''
        ),
      ])}
    />
  );
  const invoiceTable = (
    <Table
      label="Invoices"
      columns={['Invoice', 'Number', 'Stripe id', 'Description', 'Status', 'Total', 'Refunded or disputed', 'Created']}
      numeric={['Total', 'Refunded or disputed']}
      rows={invoices.map((invoice) => [
        invoice.uuid,
        invoice.number ?? 'none',
        invoice.stripe_invoice_id ?? 'none',
        invoice.description,
        invoice.status,
        formatMoney(invoice.total_cents, invoice.currency),
        formatMoney(invoice.refunded_cents, invoice.currency),
        <Time at={invoice.created_at} />,
      ])}
    />
  );
  const eventTable = (
    <Table
      label="Unprocessed payment events"
      columns={['Event', 'Type', 'Received']}
      rows={events.map((event) => [event.event_id, event.type, <Time at={event.received_at} />])}
    />
  );
  return (
    <Section id="payments" title="Payments">
      <Parts
        parts={[
          { id: 'topups', title: 'Top-ups', isEmpty: topups.length === 0, content: topupTable },
          { id: 'refunds', title: 'Refunds', isEmpty: refunds.length === 0, content: refundTable },
          { id: 'invoices', title: 'Invoices', isEmpty: invoices.length === 0, content: invoiceTable },
          { id: 'events', title: 'Unprocessed payment events', isEmpty: events.length === 0, content: eventTable },
        ]}
      />
    </Section>
  );
}
