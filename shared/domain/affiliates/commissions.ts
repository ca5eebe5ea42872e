import type { Transaction } from 'objection';
import { type PaidInvoice, processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/db.ts';
import { logger } from '../../lib/logger.ts';
import { COMMISSION_PENDING_DAYS } from '../../spec/limits.ts';
import type { Plan } from '../../spec/plans.ts';
import { Commission } from '../../tables/Commission.ts';
import { Referral } from '../../tables/Referral.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { type AccountChange, nextSyncVersion, unresolvedChange } from '../billing/accountChanges.ts';
import { findCustomerAccount } from '../billing/syncSubscription.ts';
import { type InvoiceAmounts, commissionAmountCents } from './commissionAmount.ts';

const COMMISSION_PENDING_MS = COMMISSION_PENDING_DAYS * 86_400_000;

/**
 * One commission an invoice: the first look writes it, later ones take over what has become of the money since. An
 * older look than the last changes nothing; what payouts hold of it is theirs.
 */
const UPSERT_COMMISSION = prepared(
  'record_commission',
  `INSERT INTO commissions AS c (invoice_id, affiliate_id, account_id, paid_cents, net_cents, reversed_cents,
                                 amount_cents, paid_at, payable_at, is_simulated, sync_version, synced_at, created_at)
   VALUES (:invoice, :affiliate, :account, :paid, :net, :reversed, :amount, :paidAt, :payableAt, :isSimulated, :ticket, :now, :now)
   ON CONFLICT (invoice_id) DO UPDATE
     SET paid_cents = excluded.paid_cents, net_cents = excluded.net_cents, reversed_cents = excluded.reversed_cents,
         amount_cents = excluded.amount_cents, sync_version = excluded.sync_version, synced_at = excluded.synced_at,
         sync_failing_since = NULL
   WHERE c.sync_version < excluded.sync_version`,
);

interface CommissionInput extends InvoiceAmounts {
  invoiceId: string;
  paidAt: Date;
  isSimulated: boolean;
  syncVersion: number;
}

/** The most that the tables hold. */
const MAX_CENTS = 2_147_483_647;

/**
 * Looks at a paid invoice of a subscription, and says what it means to whoever brought the customer. May be looked at
 * as often as one likes: after the payment, a refund, a dispute, or before a payout.
 * @returns null where it earns nothing: no subscription's, not paid by the processor, not ours, or nobody brought the
 * customer.
 */
export async function fetchCommissionChange(invoiceId: string): Promise<AccountChange | null> {
  const syncVersion = await nextSyncVersion();
  const invoice = await processor.readInvoice(invoiceId);
  if (invoice === null) return null;
  const known = await Commission.query().findOne({ invoice_id: invoiceId });
  // A customer who was deleted there has another id by now: what is known already keeps its account.
  const subscription = { stripe_subscription_id: invoice.subscriptionId };
  const invoiced = known ?? (await Subscription.query().findOne(subscription));
  const accountId = invoiced?.account_id ?? (await findCustomerAccount(invoice))?.id;
  const referral = accountId === undefined ? undefined : await Referral.query().findById(accountId);
  if (accountId === undefined || referral === undefined || invoice.paidCents === 0) return null;
  // What became of one that has earned already counts, also where its price is not listed any more.
  const problem = findCommissionProblem(invoice, known !== undefined);
  if (problem !== null) {
    logger.error({ invoiceId, accountId }, `an invoice earns no commission: ${problem}`);
    return unresolvedChange(accountId, `The invoice earns no commission: ${problem}.`);
  }
  const paid: CommissionInput = { ...invoice, invoiceId, isSimulated: false, syncVersion };
  return {
    accountId,
    apply: async (transaction) => {
      await upsertCommission(transaction, referral, paid);
      return undefined;
    },
  };
}

/** Why nobody can say by itself what an invoice earns. */
function findCommissionProblem(
  { isSupportedCurrency, isForPlan, paidCents }: PaidInvoice,
  hasEarned: boolean,
): string | null {
  if (!isSupportedCurrency) return 'it is in another currency';
  if (!isForPlan && !hasEarned) return 'no price of STRIPE_PRICE_* is on it';
  return paidCents > MAX_CENTS ? `${paidCents} cents are more than can be` : null;
}

/** The commission of a plan whose payment was simulated, as if its year had been paid. */
export async function recordSimulatedCommission(
  transaction: Transaction,
  subscription: Subscription,
  plan: Plan,
): Promise<void> {
  const referral = await Referral.query(transaction).findById(subscription.account_id);
  if (referral === undefined) return;
  const cents = plan.priceYearlyCents;
  await upsertCommission(transaction, referral, {
    invoiceId: `keyless:${subscription.uuid}`,
    paidCents: cents,
    netCents: cents,
    reversedCents: 0,
    paidAt: subscription.started_at,
    isSimulated: true,
    syncVersion: 1,
  });
}

async function upsertCommission(transaction: Transaction, referral: Referral, paid: CommissionInput): Promise<void> {
  await runStatement(
    UPSERT_COMMISSION,
    {
      invoice: paid.invoiceId,
      affiliate: referral.affiliate_id,
      account: referral.account_id,
      paid: paid.paidCents,
      net: paid.netCents,
      reversed: paid.reversedCents,
      amount: commissionAmountCents(paid),
      paidAt: paid.paidAt,
      payableAt: addMilliseconds(paid.paidAt, COMMISSION_PENDING_MS),
      isSimulated: paid.isSimulated,
      ticket: paid.syncVersion,
      now: now(),
    },
    transaction,
  );
}
