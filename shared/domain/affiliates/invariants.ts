import { COMMISSION_PENDING_DAYS, COMMISSION_PERCENT, REFERRAL_WINDOW_DAYS } from '../../spec/limits.ts';
import { CLOCK_SKEW_INTERVAL, type Invariant } from '../invariant.ts';

/** Referrals, the commissions that they earn, and the payouts of those. */
export const AFFILIATE_INVARIANTS: readonly Invariant[] = [
  {
    name: 'no-self-referral',
    statement: 'No account is referred by itself or earns a commission for its own payments.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'referral' AS subject, 'refers itself' AS detail FROM referrals WHERE account_id = affiliate_id
       UNION ALL
      SELECT account_id, 'invoice ' || invoice_id, format('a commission of %s cents for its own payment', amount_cents)
        FROM commissions WHERE account_id = affiliate_id`,
  },
  {
    name: 'referrals-are-of-new-accounts',
    statement: `A referral link was clicked at most ${REFERRAL_WINDOW_DAYS} days before the account was created, and is recorded with the account.`,
    checkedWhen: 'always',
    query: `
      SELECT r.account_id, 'referral' AS subject,
             format('clicked %s, recorded %s, account created %s', r.clicked_at, r.created_at, a.created_at) AS detail
        FROM referrals r JOIN accounts a ON a.id = r.account_id
       WHERE r.clicked_at < a.created_at - interval '${REFERRAL_WINDOW_DAYS} days' - ${CLOCK_SKEW_INTERVAL}
          OR r.clicked_at > a.created_at + ${CLOCK_SKEW_INTERVAL}
          OR r.created_at NOT BETWEEN a.created_at - ${CLOCK_SKEW_INTERVAL} AND a.created_at + ${CLOCK_SKEW_INTERVAL}`,
  },
  {
    name: 'affiliate-flag-matches-enrollment',
    statement: 'An account is marked as an affiliate exactly if it has enrolled.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'affiliate' AS subject, format('marked %s, enrolled %s', a.is_affiliate, coalesce(f.created_at::text, 'never')) AS detail
        FROM accounts a LEFT JOIN affiliates f ON f.account_id = a.id
       WHERE a.is_affiliate <> (f.account_id IS NOT NULL)`,
  },
  {
    name: 'one-commission-an-invoice',
    statement: 'An invoice earns at most one commission.',
    checkedWhen: 'always',
    query: `
      SELECT min(affiliate_id) AS account_id, 'invoice ' || invoice_id AS subject, count(*) || ' commissions' AS detail
        FROM commissions GROUP BY invoice_id HAVING count(*) > 1`,
  },
  {
    name: 'paid-invoices-earn-commissions',
    statement:
      'A paid invoice of a plan of a referred account has a commission, unless the affiliate was closed before the payment or a reason is stored.',
    checkedWhen: 'when drained',
    query: `
      SELECT r.affiliate_id AS account_id, 'invoice ' || coalesce(i.stripe_invoice_id, i.uuid::text) AS subject,
             format('%s cents net paid at %s by account %s without a commission', i.net_cents, i.paid_at, i.account_id) AS detail
        FROM invoices i
        JOIN referrals r ON r.account_id = i.account_id
        JOIN affiliates f ON f.account_id = r.affiliate_id
        JOIN subscriptions s ON s.id = i.subscription_id
       WHERE i.kind = 'subscription' AND i.status = 'paid' AND i.currency = 'usd' AND i.net_cents > 0 AND i.commission_problem IS NULL
         AND (f.closed_at IS NULL OR i.paid_at < date_trunc('second', f.closed_at))
         AND NOT EXISTS (SELECT FROM commissions c WHERE c.invoice_id = coalesce(i.stripe_invoice_id, 'simulated:' || s.uuid))`,
  },
  {
    name: 'commissions-belong-to-the-referrer',
    statement: 'A commission belongs to the affiliate that referred the customer.',
    checkedWhen: 'always',
    query: `
      SELECT c.affiliate_id AS account_id, 'invoice ' || c.invoice_id AS subject,
             format('paid by account %s, referred by %s', c.account_id, coalesce('account ' || r.affiliate_id, 'no affiliate')) AS detail
        FROM commissions c LEFT JOIN referrals r ON r.account_id = c.account_id
       WHERE r.affiliate_id IS DISTINCT FROM c.affiliate_id`,
  },
  {
    name: 'commissions-are-their-share',
    statement: `A commission is ${COMMISSION_PERCENT} % of the net payment less reversals, rounded down to whole cents, and payable after ${COMMISSION_PENDING_DAYS} days; the net payment of an invoice that was paid in full is that of the invoice.`,
    checkedWhen: 'always',
    query: `
      SELECT c.affiliate_id AS account_id, 'invoice ' || c.invoice_id AS subject,
             format('%s cents; paid %s, net %s, reversed %s; paid at %s, payable at %s; the invoice is over %s, net %s', c.amount_cents,
                    c.paid_cents, c.net_cents, c.reversed_cents, c.paid_at, c.payable_at, coalesce(i.total_cents::text, 'unknown'),
                    coalesce(i.net_cents::text, 'unknown')) AS detail
        FROM commissions c LEFT JOIN invoices i ON i.stripe_invoice_id = c.invoice_id
       WHERE c.amount_cents <> floor(c.net_cents::numeric * ${COMMISSION_PERCENT} * (c.paid_cents - c.reversed_cents) / (100 * c.paid_cents::numeric))
          OR c.payable_at <> c.paid_at + interval '${COMMISSION_PENDING_DAYS * 24} hours'
          OR (c.paid_cents = i.total_cents AND c.net_cents <> i.net_cents)`,
  },
  {
    name: 'settled-equals-payout-items',
    statement:
      'The settled amount of a commission is the sum of its items in payouts that were not rejected, all to its affiliate.',
    checkedWhen: 'always',
    query: `
      SELECT c.affiliate_id AS account_id, 'invoice ' || c.invoice_id AS subject,
             format('%s cents settled, payout items add up to %s, of which %s go to another affiliate', c.settled_cents, coalesce(p.cents, 0),
                    coalesce(p.misdirected, 0)) AS detail
        FROM commissions c
        LEFT JOIN (SELECT i.commission_id, sum(i.amount_cents) AS cents,
                          sum(i.amount_cents) FILTER (WHERE o.affiliate_id <> k.affiliate_id) AS misdirected
                     FROM payout_items i JOIN payouts o ON o.uuid = i.payout_uuid AND o.status <> 'rejected'
                     JOIN commissions k ON k.id = i.commission_id GROUP BY 1) p ON p.commission_id = c.id
       WHERE c.settled_cents <> coalesce(p.cents, 0) OR p.misdirected IS NOT NULL`,
  },
  {
    name: 'payouts-equal-their-items',
    statement: 'The amount of a payout is the sum of its items, and above zero.',
    checkedWhen: 'always',
    query: `
      SELECT o.affiliate_id AS account_id, 'payout ' || o.uuid AS subject,
             format('%s cents, its items add up to %s', o.amount_cents, coalesce(i.cents, 0)) AS detail
        FROM payouts o
        LEFT JOIN (SELECT payout_uuid, sum(amount_cents) AS cents FROM payout_items GROUP BY 1) i ON i.payout_uuid = o.uuid
       WHERE o.amount_cents <> coalesce(i.cents, 0) OR o.amount_cents <= 0`,
  },
  {
    name: 'one-payout-a-month',
    statement: 'An affiliate has at most one payout per month that was not rejected.',
    checkedWhen: 'always',
    query: `
      SELECT affiliate_id AS account_id, 'month ' || month AS subject, 'payouts ' || string_agg(uuid::text, ', ' ORDER BY uuid) AS detail
        FROM payouts WHERE status <> 'rejected' GROUP BY affiliate_id, month HAVING count(*) > 1`,
  },
  {
    name: 'payouts-cover-payable-commissions',
    statement:
      'A payout item is of a commission that was payable when the month started, or deducts an overpayment; real money is paid for real payments only.',
    checkedWhen: 'always',
    query: `
      SELECT o.affiliate_id AS account_id, 'payout ' || o.uuid AS subject,
             format('month %s: %s cents of invoice %s, payable %s; transfer %s', o.month, i.amount_cents, c.invoice_id,
                    coalesce(c.payable_at::text, 'never'), coalesce(o.stripe_transfer_id, 'none')) AS detail
        FROM payouts o JOIN payout_items i ON i.payout_uuid = o.uuid JOIN commissions c ON c.id = i.commission_id
       WHERE (i.amount_cents > 0 AND c.payable_at > o.month::timestamp AT TIME ZONE 'UTC')
          OR (c.is_simulated AND (o.stripe_transfer_id IS NOT NULL OR o.connect_account_id IS NOT NULL))
          OR (o.status = 'paid' AND NOT c.is_simulated AND o.stripe_transfer_id IS NULL)`,
  },
  {
    name: 'completed-payouts-are-consistent',
    statement: 'A payout is completed exactly if it was paid or rejected, and has a transfer only if it was paid.',
    checkedWhen: 'always',
    query: `
      SELECT affiliate_id AS account_id, 'payout ' || uuid AS subject,
             format('%s, completed %s, transfer %s', status, coalesce(completed_at::text, 'never'), coalesce(stripe_transfer_id, 'none')) AS detail
        FROM payouts
       WHERE (status = 'pending') <> (completed_at IS NULL) OR (status <> 'paid' AND stripe_transfer_id IS NOT NULL)`,
  },
];
