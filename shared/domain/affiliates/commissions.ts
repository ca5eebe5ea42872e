import type { Transaction } from 'objection';
import { type PaidInvoice, processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, run } from '../../lib/db.ts';
import { logger } from '../../lib/logger.ts';
import { COMMISSION_PENDING_DAYS } from '../../spec/limits.ts';
import type { Plan } from '../../spec/plans.ts';
import { Commission } from '../../tables/Commission.ts';
import { Referral } from '../../tables/Referral.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { type Effect, takeTicket, unresolved } from '../billing/effects.ts';
import { ownerOf } from '../billing/syncSubscription.ts';
import { type InvoiceMoney, shareOf } from './share.ts';

const PENDING_MS = COMMISSION_PENDING_DAYS * 86_400_000;

/**
 * One commission an invoice: the first look writes it, later ones take over what has become of the money since. An
 * older look than the last changes nothing; what payouts hold of it is theirs.
 */
const RECORD = prepared(
  'record_commission',
  `INSERT INTO commissions AS c (invoice_id, affiliate_id, account_id, paid_cents, net_cents, reversed_cents,
                                 amount_cents, paid_at, payable_at, is_simulated, sync_ticket, looked_at, created_at)
   VALUES (:invoice, :affiliate, :account, :paid, :net, :reversed, :amount, :paidAt, :payableAt, :isSimulated, :ticket, :now, :now)
   ON CONFLICT (invoice_id) DO UPDATE
     SET paid_cents = excluded.paid_cents, net_cents = excluded.net_cents, reversed_cents = excluded.reversed_cents,
         amount_cents = excluded.amount_cents, sync_ticket = excluded.sync_ticket, looked_at = excluded.looked_at,
         failing_since = NULL
   WHERE c.sync_ticket < excluded.sync_ticket`,
);

interface Paid extends InvoiceMoney {
  invoiceId: string;
  paidAt: Date;
  isSimulated: boolean;
  ticket: number;
}

/** The most that the tables hold. */
const MOST_CENTS = 2_147_483_647;

/**
 * Looks at a paid invoice of a subscription, and says what it means to whoever brought the customer. May be looked at
 * as often as one likes: after the payment, a refund, a dispute, or before a payout.
 * @returns null where it earns nothing: no subscription's, not paid by the processor, not ours, or nobody brought the
 * customer.
 */
export async function commissionEffect(invoiceId: string): Promise<Effect | null> {
  const ticket = await takeTicket();
  const invoice = await processor.readInvoice(invoiceId);
  if (invoice === null) return null;
  const known = await Commission.query().findOne({ invoice_id: invoiceId });
  // A customer who was deleted there has another id by now: what is known already keeps its account.
  const subscription = { stripe_subscription_id: invoice.subscriptionId };
  const billed = known ?? (await Subscription.query().findOne(subscription));
  const accountId = billed?.account_id ?? (await ownerOf(invoice))?.id;
  const referral = accountId === undefined ? undefined : await Referral.query().findById(accountId);
  if (accountId === undefined || referral === undefined || invoice.paidCents === 0) return null;
  // What became of one that has earned already counts, also where its price is not listed any more.
  const problem = problemOf(invoice, known !== undefined);
  if (problem !== null) {
    logger.error({ invoiceId, accountId }, `an invoice earns no commission: ${problem}`);
    return unresolved(accountId, `The invoice earns no commission: ${problem}.`);
  }
  const paid: Paid = { ...invoice, invoiceId, isSimulated: false, ticket };
  return {
    accountId,
    apply: async (transaction) => {
      await record(transaction, referral, paid);
      return undefined;
    },
  };
}

/** Why nobody can say by itself what an invoice earns. */
function problemOf({ isInOurCurrency, isForPlan, paidCents }: PaidInvoice, hasEarned: boolean): string | null {
  if (!isInOurCurrency) return 'it is in another currency';
  if (!isForPlan && !hasEarned) return 'no price of STRIPE_PRICE_* is on it';
  return paidCents > MOST_CENTS ? `${paidCents} cents are more than can be` : null;
}

/** The commission of a plan whose payment was simulated, as if its year had been paid. */
export async function recordSimulated(transaction: Transaction, subscription: Subscription, plan: Plan): Promise<void> {
  const referral = await Referral.query(transaction).findById(subscription.account_id);
  if (referral === undefined) return;
  const cents = plan.priceYearlyCents;
  await record(transaction, referral, {
    invoiceId: `keyless:${subscription.uuid}`,
    paidCents: cents,
    netCents: cents,
    reversedCents: 0,
    paidAt: subscription.started_at,
    isSimulated: true,
    ticket: 1,
  });
}

async function record(transaction: Transaction, referral: Referral, paid: Paid): Promise<void> {
  await run(
    RECORD,
    {
      invoice: paid.invoiceId,
      affiliate: referral.affiliate_id,
      account: referral.account_id,
      paid: paid.paidCents,
      net: paid.netCents,
      reversed: paid.reversedCents,
      amount: shareOf(paid),
      paidAt: paid.paidAt,
      payableAt: addMilliseconds(paid.paidAt, PENDING_MS),
      isSimulated: paid.isSimulated,
      ticket: paid.ticket,
      now: now(),
    },
    transaction,
  );
}
