import { COMMISSION_PENDING_DAYS, COMMISSION_PERCENT, REFERRAL_WINDOW_DAYS } from '../../../spec/limits.ts';
import { CLOCK_SKEW_INTERVAL, type Invariant } from './invariant.ts';

/** Who brought whom, what that earned, and what was paid out for it. */
export const AFFILIATE_INVARIANTS: readonly Invariant[] = [
  {
    name: 'no-self-referral',
    statement: 'Nobody was brought by themselves, nor earns by their own payments.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'referral' AS subject, 'brought by themselves' AS detail FROM referrals WHERE account_id = affiliate_id
       UNION ALL
      SELECT account_id, 'invoice ' || invoice_id, format('a commission of %s cents to themselves', amount_cents)
        FROM commissions WHERE account_id = affiliate_id`,
  },
  {
    name: 'referrals-are-of-new-accounts',
    statement:
      'A link counts for an account that is made within 30 days of it being followed, and only when it is made.',
    checkedWhen: 'always',
    query: `
      SELECT r.account_id, 'referral' AS subject,
             format('followed %s, written down %s, the account was made %s', r.clicked_at, r.created_at, a.created_at) AS detail
        FROM referrals r JOIN accounts a ON a.id = r.account_id
       WHERE r.clicked_at < a.created_at - interval '${REFERRAL_WINDOW_DAYS} days' - ${CLOCK_SKEW_INTERVAL}
          OR r.clicked_at > a.created_at + ${CLOCK_SKEW_INTERVAL}
          OR r.created_at NOT BETWEEN a.created_at - ${CLOCK_SKEW_INTERVAL} AND a.created_at + ${CLOCK_SKEW_INTERVAL}`,
  },
  {
    name: 'affiliate-flag-matches-enrollment',
    statement: 'An account says that it is an affiliate exactly if it has enrolled.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'affiliate' AS subject, format('the account says %s, enrolled %s', a.is_affiliate, coalesce(f.created_at::text, 'never')) AS detail
        FROM accounts a LEFT JOIN affiliates f ON f.account_id = a.id
       WHERE a.is_affiliate <> (f.account_id IS NOT NULL)`,
  },
  {
    name: 'one-commission-an-invoice',
    statement: 'An invoice earns one commission.',
    checkedWhen: 'always',
    query: `
      SELECT min(affiliate_id) AS account_id, 'invoice ' || invoice_id AS subject, count(*) || ' commissions' AS detail
        FROM commissions GROUP BY invoice_id HAVING count(*) > 1`,
  },
  {
    name: 'commissions-belong-to-the-referrer',
    statement: 'A commission is for the affiliate that brought the customer.',
    checkedWhen: 'always',
    query: `
      SELECT c.affiliate_id AS account_id, 'invoice ' || c.invoice_id AS subject,
             format('paid by account %s, who was brought by %s', c.account_id, coalesce('account ' || r.affiliate_id, 'nobody')) AS detail
        FROM commissions c LEFT JOIN referrals r ON r.account_id = c.account_id
       WHERE r.affiliate_id IS DISTINCT FROM c.affiliate_id`,
  },
  {
    name: 'commissions-are-their-share',
    statement: `A commission is ${COMMISSION_PERCENT} % of what is left of what was paid net in whole cents, rounded down, and payable after ${COMMISSION_PENDING_DAYS} days.`,
    checkedWhen: 'always',
    query: `
      SELECT affiliate_id AS account_id, 'invoice ' || invoice_id AS subject,
             format('%s cents; paid %s, net %s, reversed %s; paid at %s, payable at %s', amount_cents, paid_cents, net_cents,
                    reversed_cents, paid_at, payable_at) AS detail
        FROM commissions
       WHERE amount_cents <> floor(net_cents::numeric * ${COMMISSION_PERCENT} * (paid_cents - reversed_cents) / (100 * paid_cents::numeric))
          OR payable_at <> paid_at + interval '${COMMISSION_PENDING_DAYS * 24} hours'`,
  },
  {
    name: 'settled-equals-payout-items',
    statement:
      'What is settled of a commission is what payouts hold of it that were not refused, all of them to its affiliate.',
    checkedWhen: 'always',
    query: `
      SELECT c.affiliate_id AS account_id, 'invoice ' || c.invoice_id AS subject,
             format('%s cents settled, payouts hold %s, of which %s go to somebody else', c.settled_cents, coalesce(p.cents, 0),
                    coalesce(p.astray, 0)) AS detail
        FROM commissions c
        LEFT JOIN (SELECT i.commission_id, sum(i.amount_cents) AS cents,
                          sum(i.amount_cents) FILTER (WHERE o.affiliate_id <> k.affiliate_id) AS astray
                     FROM payout_items i JOIN payouts o ON o.uuid = i.payout_uuid AND o.status <> 'refused'
                     JOIN commissions k ON k.id = i.commission_id GROUP BY 1) p ON p.commission_id = c.id
       WHERE c.settled_cents <> coalesce(p.cents, 0) OR p.astray IS NOT NULL`,
  },
  {
    name: 'payouts-equal-their-items',
    statement: 'A payout is the sum of what it holds of commissions, and above zero.',
    checkedWhen: 'always',
    query: `
      SELECT o.affiliate_id AS account_id, 'payout ' || o.uuid AS subject,
             format('%s cents, its parts add up to %s', o.amount_cents, coalesce(i.cents, 0)) AS detail
        FROM payouts o
        LEFT JOIN (SELECT payout_uuid, sum(amount_cents) AS cents FROM payout_items GROUP BY 1) i ON i.payout_uuid = o.uuid
       WHERE o.amount_cents <> coalesce(i.cents, 0) OR o.amount_cents <= 0`,
  },
  {
    name: 'one-payout-a-month',
    statement: 'An affiliate is paid at most once a month.',
    checkedWhen: 'always',
    query: `
      SELECT affiliate_id AS account_id, 'month ' || month AS subject, 'payouts ' || string_agg(uuid::text, ', ' ORDER BY uuid) AS detail
        FROM payouts WHERE status <> 'refused' GROUP BY affiliate_id, month HAVING count(*) > 1`,
  },
  {
    name: 'payouts-are-of-what-was-payable',
    statement:
      'A payout holds of a commission only what was payable when its month began, or takes off what was paid too much; and real money is paid for real payments only.',
    checkedWhen: 'always',
    query: `
      SELECT o.affiliate_id AS account_id, 'payout ' || o.uuid AS subject,
             format('of %s: %s cents of invoice %s, payable %s; transfer %s', o.month, i.amount_cents, c.invoice_id,
                    coalesce(c.payable_at::text, 'never'), coalesce(o.stripe_transfer_id, 'none')) AS detail
        FROM payouts o JOIN payout_items i ON i.payout_uuid = o.uuid JOIN commissions c ON c.id = i.commission_id
       WHERE (i.amount_cents > 0 AND c.payable_at > o.month::timestamp AT TIME ZONE 'UTC')
          OR (c.is_simulated AND (o.stripe_transfer_id IS NOT NULL OR o.connect_account_id IS NOT NULL))
          OR (o.status = 'paid' AND NOT c.is_simulated AND o.stripe_transfer_id IS NULL)`,
  },
  {
    name: 'completed-payouts-are-consistent',
    statement: 'A payout has an end exactly if it was paid or refused, and a transfer only if it was paid.',
    checkedWhen: 'always',
    query: `
      SELECT affiliate_id AS account_id, 'payout ' || uuid AS subject,
             format('%s, completed %s, transfer %s', status, coalesce(completed_at::text, 'never'), coalesce(stripe_transfer_id, 'none')) AS detail
        FROM payouts
       WHERE (status = 'pending') <> (completed_at IS NULL) OR (status <> 'paid' AND stripe_transfer_id IS NOT NULL)`,
  },
  {
    name: 'no-payout-is-overdue',
    statement: 'No payout of which nobody knows what came of it waits to be looked at.',
    checkedWhen: 'when settled',
    query: `
      SELECT affiliate_id AS account_id, 'payout ' || uuid AS subject, format('pending since %s, due %s: %s', created_at, next_attempt_at, coalesce(problem, 'no problem')) AS detail
        FROM payouts WHERE status = 'pending' AND next_attempt_at <= $1`,
  },
];
