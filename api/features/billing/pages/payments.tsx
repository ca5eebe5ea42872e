import type { ComponentChildren, VNode } from 'preact';
import type { ListedPayment } from '../../../../shared/domain/billing/listPayments.ts';
import type { ListPage } from '../../../../shared/lib/pagination.ts';
import { formatMoney } from '../../../web/components/formatAmount.ts';
import { formatDate } from '../../../web/components/formatTime.ts';
import { PageLinks } from '../../../web/components/pageLinks.tsx';
import { Table } from '../../../web/components/table.tsx';
import { t as shared } from '../../../web/texts.ts';
import { Section } from '../../../web/components/section.tsx';
import { PAYMENTS as t, STATUSES } from './paymentTexts.ts';

/** Payments for plans and credits, with what they brought and links to their invoices at the payment processor. */
export function PaymentsSection({ payments, path }: { payments: ListPage<ListedPayment>; path: string }): VNode {
  return (
    <Section id="payments" title={t.payments()}>
      <Table
        class="entries"
        label={t.payments()}
        columns={[shared.date(), shared.description(), shared.status(), shared.amount(), t.invoice()]}
        numeric={[shared.amount()]}
        empty={payments.totalItems === 0 ? t.empty() : shared.emptyPage()}
        rows={payments.items.map((payment) => [
          formatDate(payment.created_at),
          describePayment(payment),
          <StatusTag payment={payment} />,
          <>
            {formatMoney(payment.total_cents, payment.currency)}
            {payment.tax_cents === 0 ? null : (
              <span class="hint">{t.tax({ amount: formatMoney(payment.tax_cents, payment.currency) })}</span>
            )}
          </>,
          <InvoiceLink payment={payment} />,
        ])}
      />
      <PageLinks list={payments} path={path} fragment="payments" />
    </Section>
  );
}

/**
 * Invoices of plans are described in English, in one of two forms; others, as of a changed catalog, stay as they are.
 */
function describePayment({ kind, description, credits, remainder }: ListedPayment): ComponentChildren {
  if (credits === null) {
    const [, plan, reason] = /^(.+) plan, (yearly|change)$/.exec(description ?? '') ?? [];
    if (plan === undefined) return <span lang="en">{description}</span>;
    return reason === 'yearly' ? t.yearOf({ plan }) : t.changeTo({ plan });
  }
  const order = kind === 'automatic' ? t.automaticTopup() : t.topup();
  return (
    <>
      {shared.creditCount({ credits })}
      <span class="hint">{remainder === null ? order : t.topupLeft({ order, credits: remainder })}</span>
    </>
  );
}

function StatusTag({ payment }: { payment: ListedPayment }): VNode {
  const { status, currency, refunded_cents: refundedCents, total_cents: totalCents } = payment;
  if (payment.is_disputed) return <span class="tag warn">{STATUSES.disputed()}</span>;
  if (payment.is_refund_owed) return <span class="tag off">{STATUSES.beingRefunded()}</span>;
  const dispute = payment.is_disputed === null ? 'possible' : 'none';
  if (refundedCents >= totalCents && refundedCents > 0)
    return <span class="tag off">{STATUSES.refunded({ dispute })}</span>;
  if (refundedCents > 0) {
    const amount = formatMoney(refundedCents, currency);
    return <span class="tag off">{STATUSES.partlyRefunded({ amount, dispute })}</span>;
  }
  const describe = STATUSES[status === 'failed' ? 'open' : status];
  return <span class={TAG_CLASSES[status]}>{describe()}</span>;
}

const TAG_CLASSES = {
  paid: 'tag',
  pending: 'tag off',
  open: 'tag warn',
  failed: 'tag off',
  void: 'tag off',
  uncollectible: 'tag warn',
} as const;

/** Leads through our own address, as those of the processor expire. */
function InvoiceLink({ payment }: { payment: ListedPayment }): VNode | string {
  const { invoice_state: state, invoice_uuid: uuid, invoice_number: number } = payment;
  if (state === 'none') return '–';
  if (state !== 'issued') return <span class="quiet small">{t[state]()}</span>;
  return (
    <a
      href={`/account/billing/invoices/${uuid}/`}
      aria-label={number === null ? t.openInvoice() : t.invoiceNumber({ number })}
    >
      {number ?? t.open()}
    </a>
  );
}
