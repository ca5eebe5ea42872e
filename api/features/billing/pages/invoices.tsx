import type { VNode } from 'preact';
import type { Invoice } from '../../../../shared/tables/Invoice.ts';
import { formatMoney } from '../../../web/components/formatAmount.ts';
import { formatDate } from '../../../web/components/formatTime.ts';
import { Table } from '../../../web/components/table.tsx';

/** The latest invoices, with links to their pages at the payment processor. */
export function InvoicesSection({ invoices }: { invoices: Invoice[] }): VNode {
  return (
    <section class="card" aria-labelledby="invoices">
      <h2 id="invoices">Invoices</h2>
      {invoices.length === 0 ? (
        <p class="quiet">No invoices yet. Each payment for a plan or for credits appears here with its invoice.</p>
      ) : (
        <Table
          label="Invoices"
          columns={['Date', 'Description', 'Status', 'Amount', 'Invoice']}
          numeric={['Amount']}
          rows={invoices.map((invoice) => [
            formatDate(invoice.created_at),
            invoice.description,
            describeStatus(invoice),
            <>
              {formatMoney(invoice.total_cents, invoice.currency)}
              {invoice.tax_cents === 0 ? null : (
                <span class="hint">{formatMoney(invoice.tax_cents, invoice.currency)} tax</span>
              )}
            </>,
            <InvoiceLink invoice={invoice} />,
          ])}
        />
      )}
    </section>
  );
}

/** Leads through our own address, as those of the processor expire. */
function InvoiceLink({ invoice }: { invoice: Invoice }): VNode {
  const { uuid, number, stripe_invoice_id: id, next_attempt_at: nextAttemptAt } = invoice;
  if (id !== null) {
    const name = number ?? 'Open';
    return (
      <a
        href={`/account/billing/invoices/${uuid}/`}
        aria-label={number === null ? 'Open the invoice' : `Invoice ${number}`}
      >
        {name}
      </a>
    );
  }
  return <span class="quiet">{nextAttemptAt === null ? 'None' : 'Being issued'}</span>;
}

function describeStatus({ status, currency, refunded_cents: refundedCents, total_cents: totalCents }: Invoice): string {
  if (refundedCents > 0)
    return refundedCents >= totalCents ? 'Refunded' : `${formatMoney(refundedCents, currency)} refunded`;
  return { open: 'Not paid', paid: 'Paid', void: 'Void', uncollectible: 'Not collected' }[status];
}
