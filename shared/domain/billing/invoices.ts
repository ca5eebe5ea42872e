import { raw, type Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import {
  processor,
  ProcessorError,
  type ProcessorInvoice,
  type ProcessorSubscription,
  type TopupInvoice,
} from '../../gateways/payments/index.ts';
import { getPlanBySlug } from '../../lib/catalog/catalog.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { logger } from '../../lib/logger.ts';
import { getPageOffset, type ListPage } from '../../lib/pagination.ts';
import { MINUTE_MS } from '../../spec/durations.ts';
import { ServiceError } from '../../spec/errors.ts';
import { PAGE_SIZE } from '../../spec/limits.ts';
import type { Plan } from '../../spec/plans.ts';
import type { Account } from '../../tables/Account.ts';
import { Invoice } from '../../tables/Invoice.ts';
import type { Subscription } from '../../tables/Subscription.ts';
import { Topup } from '../../tables/Topup.ts';
import { type AccountSnapshot, nextSyncVersion } from '../payments/accountSnapshot.ts';
import { scheduleTasks } from '../tasks/scheduleTasks.ts';
import { ISSUE_INVOICE_KIND } from './processorTasks.ts';
import type { ReversalResolution } from './returnedPayments.ts';
import { getNetCents, getTotalCents } from './topupAmounts.ts';

const CURRENCY = 'usd';
/** The invoice of a paid page usually arrives with an event. It is searched for after this time. */
const PAGE_INVOICE_GRACE_MS = MINUTE_MS;

/** Returns a page of the invoices of an account, newest first. */
export async function listInvoices(accountId: number, page: number): Promise<ListPage<Invoice>> {
  const [totalItems, items] = await Promise.all([
    Invoice.query().where({ account_id: accountId }).resultSize(),
    queryNewest(accountId).offset(getPageOffset(page)).limit(PAGE_SIZE),
  ]);
  return { page, totalItems, items };
}

/** Lists the latest invoices of an account. */
export function listRecentInvoices(accountId: number, limit: number): Promise<Invoice[]> {
  return queryNewest(accountId).limit(limit).execute();
}

function queryNewest(accountId: number) {
  return Invoice.query()
    .where({ account_id: accountId })
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'uuid', order: 'desc' },
    ]);
}

/**
 * Records the invoice of a top-up in the transaction that credits it. What the processor adds, such as its number,
 * follows with an event or from a task.
 */
export async function recordTopupInvoice(transaction: Transaction, topup: Topup): Promise<void> {
  const at = now();
  const uuid = uuidv7();
  await Invoice.query(transaction)
    .insert({
      uuid,
      account_id: topup.account_id,
      kind: 'topup',
      topup_uuid: topup.uuid,
      description: `${topup.kind === 'automatic' ? 'Automatic top-up' : 'Top-up'}: ${topup.credits} credits`,
      status: 'paid',
      currency: CURRENCY,
      total_cents: getTotalCents(topup),
      tax_cents: topup.tax_cents ?? 0,
      discount_cents: topup.discount_cents ?? 0,
      net_cents: getNetCents(topup),
      awaits_document: !processor.isSimulated,
      created_at: at,
      paid_at: at,
    })
    .onConflict('topup_uuid')
    .ignore();
  if (processor.isSimulated) return;
  const graceMs = topup.kind === 'manual' ? PAGE_INVOICE_GRACE_MS : 0;
  const task = { key: uuid, accountId: topup.account_id, runAt: addMilliseconds(at, graceMs) };
  await scheduleTasks(transaction, ISSUE_INVOICE_KIND, [task]);
}

/** Records how much of a top-up was refunded or is disputed. */
export async function recordTopupRefund(transaction: Transaction, topup: Topup, reversedCents: number): Promise<void> {
  await Invoice.query(transaction)
    .patch({ refunded_cents: Math.min(getTotalCents(topup), reversedCents) })
    .where({ topup_uuid: topup.uuid });
}

/** Records the invoice of a plan whose payment is simulated. */
export async function recordSimulatedInvoice(
  transaction: Transaction,
  subscription: Subscription,
  plan: Plan,
): Promise<void> {
  await Invoice.query(transaction).insert({
    uuid: uuidv7(),
    account_id: subscription.account_id,
    kind: 'subscription',
    subscription_id: subscription.id,
    description: `${plan.name} plan, yearly`,
    status: 'paid',
    currency: CURRENCY,
    total_cents: plan.priceYearlyCents,
    tax_cents: 0,
    discount_cents: 0,
    net_cents: plan.priceYearlyCents,
    created_at: subscription.started_at,
    paid_at: subscription.started_at,
  });
}

/** Returns the snapshot of a top-up's invoice at the processor. */
export function buildInvoiceSnapshot(accountId: number, invoice: TopupInvoice, syncVersion: number): AccountSnapshot {
  return {
    accountId,
    problem: null,
    apply: (transaction, account) => applyTopupInvoice(transaction, account, invoice, syncVersion),
  };
}

/**
 * Applies the state of a top-up's invoice. The amounts stay those of the payment. Nothing is applied before the top-up
 * is credited, or if a newer snapshot was applied.
 */
async function applyTopupInvoice(
  transaction: Transaction,
  account: Account,
  { document, topupUuid, intentId }: TopupInvoice,
  syncVersion: number,
): Promise<void> {
  const topup = await Topup.query(transaction).findOne({ uuid: topupUuid, account_id: account.id });
  if (topup?.status !== 'succeeded') return;
  if (intentId !== topup.stripe_payment_intent_id) {
    const context = { topup: topupUuid, invoiceId: document.id, intent: intentId };
    logger.error(context, 'invoice of a top-up was paid by another payment; refund that payment by hand');
    return;
  }
  await Invoice.query(transaction)
    .patch({
      ...toDocumentColumns(account, document, syncVersion),
      stripe_invoice_id: document.id,
      awaits_document: false,
    })
    .where({ account_id: account.id, topup_uuid: topupUuid })
    .where('sync_version', '<', syncVersion);
}

/**
 * Inserts or updates the invoices of a subscription, unless a newer snapshot was applied. A void one is only updated.
 */
const UPSERT_INVOICES = prepared(
  'record_subscription_invoices',
  `INSERT INTO invoices AS i (uuid, account_id, kind, subscription_id, stripe_invoice_id, number, description, status,
                              currency, total_cents, tax_cents, discount_cents, net_cents, refunded_cents,
                              hosted_invoice_url, pdf_url, sync_version, created_at, paid_at)
   SELECT uuid, :account, 'subscription', :subscription, id, number, description, status, currency, total, tax, discount,
          total - tax, refunded, hosted_invoice_url, pdf_url, :syncVersion, created_at, paid_at
     FROM json_to_recordset(:documents) AS d (uuid uuid, id text, number text, description text, status text,
          currency text, total bigint, tax bigint, discount bigint, refunded bigint, hosted_invoice_url text, pdf_url text,
          created_at timestamptz, paid_at timestamptz)
    WHERE status <> 'void' OR EXISTS (SELECT FROM invoices known WHERE known.stripe_invoice_id = d.id)
   ON CONFLICT (stripe_invoice_id) DO UPDATE
     SET number = excluded.number, status = excluded.status, total_cents = excluded.total_cents,
         tax_cents = excluded.tax_cents, discount_cents = excluded.discount_cents, net_cents = excluded.net_cents,
         refunded_cents = excluded.refunded_cents,
         hosted_invoice_url = excluded.hosted_invoice_url, pdf_url = excluded.pdf_url, paid_at = excluded.paid_at,
         sync_version = excluded.sync_version
   WHERE i.sync_version < excluded.sync_version`,
);

/** Applies all invoices of a subscription. A snapshot older than the last one changes nothing. */
export async function applySubscriptionInvoices(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
  { subscription: fetched, invoices, syncVersion }: ReversalResolution & { syncVersion: number },
): Promise<void> {
  const reversedCents = new Map(invoices.map((invoice) => [invoice.id, invoice.reversedCents]));
  const documents = fetched.documents.map((document) => ({
    ...toDocumentColumns(account, document, syncVersion),
    uuid: uuidv7(),
    id: document.id,
    description: describeInvoice(subscription, fetched, document),
    currency: document.currency,
    total: document.totalCents,
    tax: document.taxCents,
    discount: document.discountCents,
    refunded: Math.min(document.totalCents, reversedCents.get(document.id) ?? 0),
    created_at: document.createdAt,
  }));
  const owner = { account: account.id, subscription: subscription.id };
  await runStatement(UPSERT_INVOICES, { ...owner, syncVersion, documents: JSON.stringify(documents) }, transaction);
}

function describeInvoice(
  { plan_slug: planSlug }: Subscription,
  { invoices }: ProcessorSubscription,
  { id }: ProcessorInvoice,
): string {
  const paid = invoices.find((invoice) => invoice.id === id);
  const { name } = getPlanBySlug(paid?.plan ?? planSlug);
  return paid?.isAnnual === false ? `${name} plan, change` : `${name} plan, yearly`;
}

/** Records what was returned of a subscription's invoice, after a refund whose event may arrive later. */
export async function syncInvoiceReversals(invoiceId: string): Promise<void> {
  const syncVersion = await nextSyncVersion();
  const { reversedCents } = await processor.readReversals({ id: invoiceId, paidCents: 0, hasCreditNotes: true });
  await Invoice.query()
    .where({ stripe_invoice_id: invoiceId })
    .where('sync_version', '<', syncVersion)
    .patch({ refunded_cents: raw('least(total_cents, cast(? as bigint))', [reversedCents]) });
}

/** The addresses show name and address of the customer, so that an erased account keeps none. */
function toDocumentColumns(account: Account, document: ProcessorInvoice, syncVersion: number) {
  const isErased = account.erased_at !== null;
  return {
    number: document.number,
    status: document.status,
    hosted_invoice_url: isErased ? null : document.hostedUrl,
    pdf_url: isErased ? null : document.pdfUrl,
    paid_at: document.paidAt,
    sync_version: syncVersion,
  };
}

/**
 * Returns the page of an invoice at the processor. Its address expires, so a current one is fetched; while the
 * processor is unavailable, the stored one is used.
 * @returns null if the invoice has no page.
 * @throws ServiceError not_found
 */
export async function getInvoiceUrl(accountId: number, uuid: string): Promise<string | null> {
  const invoice = await Invoice.query().findOne({ account_id: accountId, uuid });
  if (invoice === undefined) throw new ServiceError('not_found', 'The account has no invoice with this UUID.');
  const { stripe_invoice_id: id, hosted_invoice_url: storedUrl } = invoice;
  if (id === null) return null;
  try {
    return (await processor.readInvoiceDocument(id))?.hostedUrl ?? storedUrl;
  } catch (err) {
    if (!(err instanceof ProcessorError)) throw err;
    logger.warn({ err, invoice: uuid }, 'page of an invoice not read; using the stored address');
    return storedUrl;
  }
}
