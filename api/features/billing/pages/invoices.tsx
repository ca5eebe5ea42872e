import type { VNode } from 'preact';
import type { Invoice } from '../../../../shared/tables/Invoice.ts';
import { formatMoney } from '../../../web/components/formatAmount.ts';
import { formatDate } from '../../../web/components/formatTime.ts';
import { Table } from '../../../web/components/table.tsx';
import { t as shared } from '../../../web/texts.ts';
import { INVOICES as t, STATUSES } from './texts.ts';

/** The latest invoices, with links to their pages at the payment processor. */
export function InvoicesSection({ invoices }: { invoices: Invoice[] }): VNode {
  return (
    <section class="card" aria-labelledby="invoices">
      <h2 id="invoices">{t.invoices()}</h2>
      {invoices.length === 0 ? (
        <p class="quiet">{t.empty()}</p>
      ) : (
        <Table
          label={t.invoices()}
          columns={[shared.date(), shared.description(), shared.status(), shared.amount(), t.invoice()]}
          numeric={[shared.amount()]}
          rows={invoices.map((invoice) => [
            formatDate(invoice.created_at),
            <span lang="en">{invoice.description}</span>,
            describeStatus(invoice),
            <>
              {formatMoney(invoice.total_cents, invoice.currency)}
              {invoice.tax_cents === 0 ? null : (
                <span class="hint">{t.tax({ amount: formatMoney(invoice.tax_cents, invoice.currency) })}</span>
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
  const { uuid, number, stripe_invoice_id: id, awaits_document: awaitsDocument } = invoice;
  if (id !== null) {
    const name = number ?? t.open();
    return (
      <a
        href={`/account/billing/invoices/${uuid}/`}
        aria-label={number === null ? t.openInvoice() : t.invoiceNumber({ number })}
      >
        {name}
      </a>
    );
  }
  return <span class="quiet">{awaitsDocument ? t.beingIssued() : t.none()}</span>;
}

function describeStatus({ status, currency, refunded_cents: refundedCents, total_cents: totalCents }: Invoice): string {
  if (refundedCents > 0)
    return refundedCents >= totalCents
      ? STATUSES.refunded()
      : STATUSES.partlyRefunded({ amount: formatMoney(refundedCents, currency) });
  return (status === 'open' ? STATUSES.notPaid : STATUSES[status])();
}
