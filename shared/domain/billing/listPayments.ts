import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { getPageOffset, type ListPage } from '../../lib/pagination.ts';
import { PAGE_SIZE } from '../../spec/limits.ts';
import type { Invoice } from '../../tables/Invoice.ts';
import type { Topup } from '../../tables/Topup.ts';
import { ISSUE_INVOICE_KIND } from './processorTasks.ts';

/**
 * Invoice of a paid top-up that the processor has yet to issue: of a plan's, and of simulated payments, it is `none`.
 */
type InvoiceState = 'issued' | 'being_issued' | 'given_up' | 'none';

/** One payment of an account: an invoice of its plan, or a top-up, which has its invoice once it is paid. */
export interface ListedPayment {
  kind: 'subscription' | Topup['kind'];
  status: Invoice['status'] | 'pending' | 'failed';
  /** null for a plan: what is refunded of it may be disputed. */
  is_disputed: boolean | null;
  /** True while a refund is owed that the processor has not reported. */
  is_refund_owed: boolean;
  currency: string;
  /** With tax and after discounts; what was ordered until it is paid. */
  total_cents: number;
  tax_cents: number;
  /** The part of the total that was refunded or is disputed. */
  refunded_cents: number;
  /** Description of the invoice, in English; null until it is paid. */
  description: string | null;
  /** Credits of a top-up, and those of them that are left: null unless it is paid. */
  credits: number | null;
  remainder: number | null;
  invoice_uuid: string | null;
  invoice_number: string | null;
  invoice_state: InvoiceState;
  created_at: Date;
}

const LIST_PAYMENTS = prepared(
  'list_payments',
  `WITH listed AS (
     SELECT t.kind, CASE WHEN t.status = 'succeeded' THEN 'paid' ELSE t.status END AS status, t.is_disputed, coalesce(i.currency, 'usd') AS currency,
            coalesce(i.total_cents, coalesce(t.net_cents, t.amount_cents) + coalesce(t.tax_cents, 0)) AS total_cents,
            coalesce(i.tax_cents, 0) AS tax_cents, coalesce(i.refunded_cents, 0) AS refunded_cents, i.description, t.credits,
            t.uuid AS topup, i.uuid AS invoice, i.number, i.stripe_invoice_id AS document, coalesce(i.awaits_document, false) AS awaits,
            coalesce(i.created_at, t.created_at) AS created_at
       FROM topups t LEFT JOIN invoices i ON i.topup_uuid = t.uuid
      WHERE t.account_id = :accountId
      UNION ALL
     SELECT kind, status, NULL, currency, total_cents, tax_cents, refunded_cents, description, NULL,
            NULL, uuid, number, stripe_invoice_id, false, created_at
       FROM invoices
      WHERE account_id = :accountId AND topup_uuid IS NULL
   ), page AS (
     SELECT * FROM listed ORDER BY created_at DESC, coalesce(invoice, topup) DESC OFFSET :skip LIMIT :limit
   )
   SELECT total.count AS total_items, p.kind, p.status, p.is_disputed, p.currency, p.total_cents, p.tax_cents,
          p.refunded_cents, p.description, p.credits, lot.remainder, p.invoice AS invoice_uuid,
          p.number AS invoice_number, p.created_at,
          EXISTS (SELECT FROM owed_refunds WHERE key IN (cast(p.topup AS text), p.document) AND status = 'owed') AS is_refund_owed,
          CASE WHEN p.document IS NOT NULL THEN 'issued'
               WHEN NOT p.awaits THEN 'none'
               WHEN EXISTS (SELECT FROM tasks WHERE kind = :issue AND key = cast(p.invoice AS text) AND run_at IS NULL)
                 THEN 'given_up'
               ELSE 'being_issued' END AS invoice_state
     FROM (SELECT cast(count(*) AS int) AS count FROM listed) total
     LEFT JOIN page p ON true
     LEFT JOIN topup_remainders(:accountId) lot ON lot.topup_uuid = p.topup
    ORDER BY p.created_at DESC, coalesce(p.invoice, p.topup) DESC`,
);

/** Returns a page of the payments of an account, newest first, with those that wait for their payment. */
export async function listPayments(accountId: number, page: number): Promise<ListPage<ListedPayment>> {
  const bindings = { accountId, issue: ISSUE_INVOICE_KIND, skip: getPageOffset(page), limit: PAGE_SIZE };
  const rows = await runStatement<ListedPayment & { total_items: number }>(LIST_PAYMENTS, bindings);
  return { page, totalItems: rows[0]?.total_items ?? 0, items: rows.filter(({ kind }) => kind !== null) };
}
