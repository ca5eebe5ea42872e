import type { Transaction } from 'objection';
import { type PaidInvoice, processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { logger } from '../../lib/logger.ts';
import { COMMISSION_PENDING_DAYS } from '../../spec/limits.ts';
import type { Plan } from '../../spec/plans.ts';
import { Affiliate } from '../../tables/Affiliate.ts';
import { Commission } from '../../tables/Commission.ts';
import { Referral } from '../../tables/Referral.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { recordEvent } from '../outbox/recordEvent.ts';
import { type AccountSnapshot, type UnresolvedSnapshot, withAccountLock } from '../payments/accountSnapshot.ts';
import { findCustomerAccount } from '../payments/findCustomerAccount.ts';
import { nextSyncVersion } from '../payments/syncVersion.ts';
import { type InvoiceAmounts, commissionAmountCents } from './commissionAmount.ts';
import { DAY_MS } from '../../spec/durations.ts';

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

/** The state of a paid invoice at the processor, with the referral that it earns a commission for. */
export interface CommissionSnapshot extends AccountSnapshot {
  kind: 'commission';
  referral: Referral;
  paid: CommissionInput;
}

interface CommissionInput extends InvoiceAmounts {
  invoiceId: string;
  paidAt: Date;
  isSimulated: boolean;
  syncVersion: number;
}

/** The largest amount that the columns hold. */
const MAX_CENTS = 2_147_483_647;

/**
 * Reads a paid invoice of a subscription. May be repeated at any time: after the payment, a refund, a dispute, or before
 * a payout.
 * @returns null if it earns no commission: it is not a subscription's, was not paid through the processor, or belongs
 * to no referred account.
 */
export async function fetchCommission(invoiceId: string): Promise<CommissionSnapshot | UnresolvedSnapshot | null> {
  const syncVersion = await nextSyncVersion();
  const invoice = await processor.readInvoice(invoiceId);
  if (invoice === null) return null;
  const known = await Commission.query().findOne({ invoice_id: invoiceId });
  // A customer that was deleted and recreated at the processor has another id: known invoices keep their account.
  const subscription = { stripe_subscription_id: invoice.subscriptionId };
  const invoiced = known ?? (await Subscription.query().findOne(subscription));
  const accountId = invoiced?.account_id ?? (await findCustomerAccount(invoice))?.id;
  const referral = accountId === undefined ? undefined : await Referral.query().findById(accountId);
  if (accountId === undefined || referral === undefined || invoice.paidCents === 0) return null;
  if (known === undefined && (await isClosed(referral))) return null;
  // Reversals of a known commission count even if its price is no longer listed.
  const problem = findCommissionProblem(invoice, known !== undefined);
  if (problem !== null) {
    logger.error({ invoiceId, accountId, problem }, 'invoice earns no commission');
    return { kind: 'unresolved', accountId, problem: `The invoice earns no commission: ${problem}.` };
  }
  const paid = { ...invoice, invoiceId, isSimulated: false, syncVersion };
  return { kind: 'commission', accountId, problem: null, referral, paid };
}

/** Writes the commission of an invoice under the account's lock. */
export async function applyCommission(transaction: Transaction, { referral, paid }: CommissionSnapshot): Promise<void> {
  await upsertCommission(transaction, referral, paid);
}

/** Returns whether the account of the referrer was erased. Its referrals earn nothing from then on. */
async function isClosed({ affiliate_id: affiliateId }: Referral, transaction?: Transaction): Promise<boolean> {
  const affiliate = await Affiliate.query(transaction).findById(affiliateId).throwIfNotFound();
  return affiliate.closed_at !== null;
}

/** Brings the commission of an invoice up to date with the processor. */
export async function syncCommission(invoiceId: string): Promise<void> {
  const snapshot = await fetchCommission(invoiceId);
  if (snapshot === null || snapshot.kind === 'unresolved') return;
  await withAccountLock(snapshot.accountId, (transaction) => applyCommission(transaction, snapshot));
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
  if (referral === undefined || (await isClosed(referral, transaction))) return;
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
