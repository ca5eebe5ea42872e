import type { Transaction } from 'objection';
import { type PaidInvoice, processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { logger } from '../../lib/logger.ts';
import { DAY_MS } from '../../spec/durations.ts';
import { COMMISSION_PENDING_DAYS, COMMISSION_PERCENT } from '../../spec/limits.ts';
import type { Plan } from '../../spec/plans.ts';
import { Affiliate } from '../../tables/Affiliate.ts';
import { Commission } from '../../tables/Commission.ts';
import { Invoice } from '../../tables/Invoice.ts';
import { Referral } from '../../tables/Referral.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { recordEvent } from '../outbox/recordEvent.ts';
import {
  type AccountSnapshot,
  applySnapshot,
  buildUnresolved,
  findCustomerAccount,
  nextSyncVersion,
} from '../payments/accountSnapshot.ts';
import { trySync } from '../payments/processorErrors.ts';

const COMMISSION_PENDING_MS = COMMISSION_PENDING_DAYS * DAY_MS;

/**
 * Inserts the one commission of an invoice, or updates its amounts after refunds and disputes. A snapshot older than
 * the last one changes nothing, and what payouts have settled stays as it is.
 */
const UPSERT_COMMISSION = prepared(
  'record_commission',
  `INSERT INTO commissions AS c (invoice_id, affiliate_id, account_id, paid_cents, net_cents, reversed_cents,
                                 amount_cents, paid_at, payable_at, is_simulated, sync_version, synced_at, created_at)
   VALUES (:invoice, :affiliate, :account, :paid, :net, :reversed, :amount, :paidAt, :payableAt, :isSimulated, :syncVersion, :now, :now)
   ON CONFLICT (invoice_id) DO UPDATE
     SET paid_cents = excluded.paid_cents, net_cents = excluded.net_cents, reversed_cents = excluded.reversed_cents,
         amount_cents = excluded.amount_cents, sync_version = excluded.sync_version, synced_at = excluded.synced_at,
         sync_failing_since = NULL
   WHERE c.sync_version < excluded.sync_version
   RETURNING xmax = 0 AS is_created`,
);

interface CommissionInput extends InvoiceAmounts {
  invoiceId: string;
  paidAt: Date;
  isSimulated: boolean;
  syncVersion: number;
}

/** The largest amount that the columns hold. */
const MAX_CENTS = 2_147_483_647;

/**
 * Reads a paid invoice of a subscription. May be repeated at any time: after the payment, a refund, a dispute, or
 * before a payout.
 * @returns null if it earns no commission: it is not a paid one of a subscription, belongs to no referred account, or
 * was paid after the affiliate's account was erased.
 */
export async function fetchCommission(invoiceId: string): Promise<AccountSnapshot | null> {
  const syncVersion = await nextSyncVersion();
  const invoice = await processor.readInvoice(invoiceId);
  if (invoice === null) return null;
  const known = await Commission.query().findOne({ invoice_id: invoiceId });
  // A customer that was deleted and recreated at the processor has another id: known invoices keep their account.
  const subscription = { stripe_subscription_id: invoice.subscriptionId };
  const invoiced = known ?? (await Subscription.query().findOne(subscription));
  const accountId = invoiced?.account_id ?? (await findCustomerAccount(invoice))?.id;
  const referral = accountId === undefined ? undefined : await Referral.query().findById(accountId);
  if (accountId === undefined || referral === undefined) return null;
  if (known === undefined && !(await isCommissionDue(referral, invoice.paidAt))) return null;
  const buildSnapshot = (paid: CommissionInput | null): AccountSnapshot => ({
    accountId,
    problem: null,
    apply: (transaction) => applyCommission(transaction, referral, invoiceId, paid),
  });
  if (invoice.paidCents === 0) return known === undefined ? buildSnapshot(null) : null;
  // Reversals of a known commission count even if its price is no longer listed.
  const problem = findCommissionProblem(invoice, known !== undefined);
  if (problem !== null) {
    logger.error({ invoiceId, accountId, problem }, 'invoice earns no commission');
    return buildUnresolved(accountId, `The invoice earns no commission: ${problem}.`);
  }
  return buildSnapshot({ ...invoice, invoiceId, isSimulated: false, syncVersion });
}

/**
 * Writes the commission of an invoice under the account's lock, or that it earns none.
 * @param paid null if nothing of the invoice was paid through the processor.
 */
async function applyCommission(
  transaction: Transaction,
  referral: Referral,
  invoiceId: string,
  paid: CommissionInput | null,
): Promise<void> {
  if (paid !== null) await upsertCommission(transaction, referral, paid);
  const invoice = Invoice.query(transaction).where({ stripe_invoice_id: invoiceId, kind: 'subscription' });
  if (paid === null) await invoice.patch({ commission_problem: NOTHING_EARNED, commission_due_at: null });
  else await invoice.whereNotNull('commission_problem').patch({ commission_problem: null, commission_due_at: null });
}

const NOTHING_EARNED = 'The invoice earns no commission: nothing of it was paid through the processor.';

/** Returns whether an invoice was paid before the account of the referrer was erased, whenever its event is applied. */
async function isCommissionDue(
  { affiliate_id: affiliateId }: Referral,
  paidAt: Date,
  transaction?: Transaction,
): Promise<boolean> {
  const { closed_at: closedAt } = await Affiliate.query(transaction).findById(affiliateId).throwIfNotFound();
  // The processor's times are whole seconds: a payment in the second of the erasure counts as later.
  return closedAt === null || paidAt.getTime() < Math.floor(closedAt.getTime() / 1_000) * 1_000;
}

const MISSING_BATCH_SIZE = 200;

/**
 * Paid invoices of referred accounts without a commission, whose event was lost. Others have a `commission_problem`.
 */
const MISSING_COMMISSIONS = prepared(
  'missing_commissions',
  `SELECT i.uuid, i.stripe_invoice_id AS invoice_id
     FROM referrals r
     JOIN affiliates f ON f.account_id = r.affiliate_id
     JOIN invoices i ON i.account_id = r.account_id
    WHERE i.kind = 'subscription' AND i.status = 'paid' AND i.currency = 'usd' AND i.net_cents > 0
      AND i.stripe_invoice_id IS NOT NULL AND (f.closed_at IS NULL OR i.paid_at < date_trunc('second', f.closed_at))
      AND (i.commission_problem IS NULL OR i.commission_due_at <= :now)
      AND NOT EXISTS (SELECT FROM commissions c WHERE c.invoice_id = i.stripe_invoice_id)
    ORDER BY i.paid_at LIMIT ${MISSING_BATCH_SIZE}`,
);

/** An invoice whose commission could not be created is read again after this time, so that it does not block others. */
const MISSING_RETRY_MS = DAY_MS;

/** Creates the commissions of paid invoices whose events did not arrive. */
export async function createMissingCommissions(): Promise<void> {
  if (processor.isSimulated) return;
  const missing = await runStatement<{ uuid: string; invoice_id: string }>(MISSING_COMMISSIONS, { now: now() });
  for (const { uuid, invoice_id: invoiceId } of missing) {
    let problem: string | null = 'The invoice could not be read.';
    await trySync(async () => {
      const snapshot = await syncCommission(invoiceId);
      problem = snapshot === null ? 'The processor has no such paid invoice.' : snapshot.problem;
    });
    if (problem === null) continue;
    const commission_due_at = addMilliseconds(now(), MISSING_RETRY_MS);
    await Invoice.query().findById(uuid).patch({ commission_problem: problem, commission_due_at });
  }
}

/** Brings the commission of an invoice up to date with the processor. @returns what was read. */
export async function syncCommission(invoiceId: string): Promise<AccountSnapshot | null> {
  const snapshot = await fetchCommission(invoiceId);
  await applySnapshot(snapshot);
  return snapshot;
}

/** Returns why the commission of an invoice cannot be computed, or null. */
function findCommissionProblem(
  { isSupportedCurrency, isForPlan, paidCents }: PaidInvoice,
  hasEarned: boolean,
): string | null {
  if (!isSupportedCurrency) return 'it is in an unsupported currency';
  if (!isForPlan && !hasEarned) return 'none of its prices is in STRIPE_PRICE_*';
  return paidCents > MAX_CENTS ? `${paidCents} cents exceed the maximum` : null;
}

/** Records the commission of a plan whose payment is simulated, as if its year had been paid. */
export async function recordSimulatedCommission(
  transaction: Transaction,
  subscription: Subscription,
  plan: Plan,
): Promise<void> {
  const referral = await Referral.query(transaction).findById(subscription.account_id);
  if (referral === undefined || !(await isCommissionDue(referral, subscription.started_at, transaction))) return;
  const cents = plan.priceYearlyCents;
  await upsertCommission(transaction, referral, {
    invoiceId: `simulated:${subscription.uuid}`,
    paidCents: cents,
    netCents: cents,
    reversedCents: 0,
    paidAt: subscription.started_at,
    isSimulated: true,
    syncVersion: 1,
  });
}

async function upsertCommission(transaction: Transaction, referral: Referral, paid: CommissionInput): Promise<void> {
  const amountCents = commissionAmountCents(paid);
  const payableAt = addMilliseconds(paid.paidAt, COMMISSION_PENDING_MS);
  const [row] = await runStatement<{ is_created: boolean }>(
    UPSERT_COMMISSION,
    {
      invoice: paid.invoiceId,
      affiliate: referral.affiliate_id,
      account: referral.account_id,
      paid: paid.paidCents,
      net: paid.netCents,
      reversed: paid.reversedCents,
      amount: amountCents,
      paidAt: paid.paidAt,
      payableAt,
      isSimulated: paid.isSimulated,
      syncVersion: paid.syncVersion,
      now: now(),
    },
    transaction,
  );
  if (row?.is_created !== true) return;
  await recordEvent(transaction, {
    accountId: referral.affiliate_id,
    type: 'affiliate.commission',
    subject: paid.invoiceId,
    details: {
      amount_cents: amountCents,
      paid_at: paid.paidAt.toISOString(),
      payable_at: payableAt.toISOString(),
    },
  });
}

/** The money of one invoice, in cents. */
interface InvoiceAmounts {
  paidCents: number;
  /** The part of the paid amount that is not tax. */
  netCents: number;
  /** The part of the paid amount that was refunded, or is disputed and not won back. */
  reversedCents: number;
}

/**
 * Returns an affiliate's share of an invoice: 30 % of its net amount, in proportion to the part of the payment that was
 * not reversed (spec: What the service does, 6). Rounded down to whole cents.
 */
export function commissionAmountCents({ paidCents, netCents, reversedCents }: InvoiceAmounts): number {
  if (paidCents <= 0) return 0;
  const kept = BigInt(Math.max(0, paidCents - reversedCents));
  // The product of three amounts may exceed the integers that a number represents exactly.
  return Number((BigInt(netCents) * BigInt(COMMISSION_PERCENT) * kept) / (100n * BigInt(paidCents)));
}
