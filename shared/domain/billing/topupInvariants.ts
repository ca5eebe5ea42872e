import { AUTO_TOPUP_INTERVAL_MS } from '../../spec/limits.ts';
import { CLOCK_SKEW_INTERVAL, type Invariant } from '../invariant.ts';

/** Top-ups: one ledger entry per payment, their reversals, and the interval between automatic ones. */

export const AUTO_TOPUP_INTERVAL_SQL = `interval '${AUTO_TOPUP_INTERVAL_MS} milliseconds'`;

/**
 * Entries of top-ups, by effect key: `topup:{uuid}` for the payment, `topup:{uuid}:{n}` for each reversal or
 * reinstatement.
 */
const TOPUP_ENTRIES = `
  SELECT account_id, number, entry_type, amount, plan_amount, split_part(effect_key, ':', 2) AS topup,
         cast(substring(effect_key from '^topup:[^:]+:([0-9]{1,6})$') AS int) AS reversal
    FROM ledger_entries WHERE effect_key LIKE 'topup:%'`;

/**
 * Changes of the size of each purchase of top-up credits, its own entry, whose number is that of the lot, and its
 * reversals; and what staff have given and removed, without a top-up.
 */
const LOT_CHANGES = `
  SELECT account_id, number, topup, amount, min(number) OVER (PARTITION BY account_id, coalesce(topup, number::text)) AS lot
    FROM (SELECT account_id, number, amount,
                 CASE WHEN effect_key LIKE 'topup:%' THEN split_part(effect_key, ':', 2) END AS topup
            FROM ledger_entries
           WHERE effect_key LIKE 'topup:%' OR effect_key LIKE 'adjustment:%') entry`;

/**
 * Credits of the bucket that are newer than a lot, from the entries before one: what was bought, and the most that
 * gifts less removals add up to, counted from the newest.
 */
const newerCreditsSql = (account: string, lot: string, before: string) => `(
  SELECT coalesce(sum(amount) FILTER (WHERE topup IS NOT NULL), 0) + greatest(0, max(given)) AS credits
    FROM (SELECT topup, amount, sum(amount) FILTER (WHERE topup IS NULL) OVER (ORDER BY number DESC) AS given
            FROM (${LOT_CHANGES}) change
           WHERE account_id = ${account} AND lot > ${lot} AND number < ${before}) newer)`;

/** Credits that an amount buys on a plan. */
const creditsSql = (cents: string, plan: string) =>
  `floor(${cents}::numeric * ${plan}.monthly_credits / ${plan}.price_monthly_cents)`;

export const TOPUP_INVARIANTS: readonly Invariant[] = [
  {
    name: 'one-entry-a-paid-topup',
    statement:
      'A paid top-up has one ledger entry, on its account and of its credits; no other top-up has one, and every entry has its top-up.',
    checkedWhen: 'always',
    query: `
      SELECT coalesce(t.account_id, e.account_id) AS account_id, 'top-up ' || coalesce(t.uuid::text, e.topup) AS subject,
             format('%s, %s credits; %s entries of %s credits on account %s', coalesce(t.status, 'missing'), coalesce(t.credits, 0),
                    coalesce(e.entries, 0), coalesce(e.credits, 0), coalesce(e.account_id::text, 'none')) AS detail
        FROM topups t
        FULL JOIN (SELECT topup, min(account_id) AS account_id, count(*) AS entries, sum(amount) AS credits
                     FROM (${TOPUP_ENTRIES}) entry WHERE reversal IS NULL GROUP BY topup) e ON e.topup = t.uuid::text
       WHERE CASE WHEN t.status = 'succeeded'
                  THEN (t.account_id, 1, t.credits) IS DISTINCT FROM (e.account_id, e.entries, e.credits)
                  ELSE e.entries > 0 END`,
  },
  {
    name: 'reversals-equal-their-entries',
    statement:
      'The reversed credits of a top-up are the sum of its reversal entries, which are numbered from 1 without gaps.',
    checkedWhen: 'always',
    query: `
      SELECT coalesce(t.account_id, e.account_id) AS account_id, 'top-up ' || coalesce(t.uuid::text, e.topup) AS subject,
             format('%s credits in %s reversals; the ledger has %s in %s, last number %s', coalesce(t.credits_reversed, 0),
                    coalesce(t.reversal_count, 0), coalesce(e.credits, 0), coalesce(e.entries, 0), coalesce(e.last, 0)) AS detail
        FROM topups t
        FULL JOIN (SELECT topup, min(account_id) AS account_id, count(*) AS entries, -sum(amount) AS credits, max(reversal) AS last,
                          count(DISTINCT account_id) AS accounts
                     FROM (${TOPUP_ENTRIES}) entry WHERE reversal IS NOT NULL GROUP BY topup) e ON e.topup = t.uuid::text
       WHERE (t.credits_reversed, t.reversal_count, t.reversal_count)
               IS DISTINCT FROM (coalesce(e.credits, 0), coalesce(e.entries, 0), coalesce(e.last, 0))
          OR e.account_id <> t.account_id OR e.accounts > 1`,
  },
  {
    name: 'reversed-credits-within-reversed-cents',
    statement:
      'The reversed credits of a top-up are at most proportional to its reversed net money, and only a paid top-up has reversals.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'top-up ' || uuid AS subject,
             format('%s: %s of %s credits and %s of %s cents reversed, completed %s', status, credits_reversed, credits,
                    reversed_cents, coalesce(net_cents, amount_cents), coalesce(completed_at::text, 'never')) AS detail
        FROM topups
       WHERE credits_reversed > floor(credits::numeric * reversed_cents / coalesce(net_cents, amount_cents))
          OR reversed_cents > coalesce(net_cents, amount_cents)
          OR (status = 'succeeded' AND (completed_at IS NULL OR failure_code IS NOT NULL))
          OR (status <> 'succeeded' AND (reversed_cents > 0 OR reversal_count > 0))`,
  },
  {
    // Computed from the ledger alone, not by `topup_remainders`, which decides what is taken.
    name: 'returned-topups-have-no-remainder',
    statement: 'A top-up of which fewer credits were taken back than its returned money bought has none left.',
    checkedWhen: 'always',
    query: `
      SELECT t.account_id, 'top-up ' || t.uuid AS subject,
             format('%s of %s cents reversed, %s of %s credits taken back, %s top-up credits, of which %s are newer', t.reversed_cents,
                    coalesce(t.net_cents, t.amount_cents), t.credits_reversed, t.credits, a.topup_credits, newer.credits) AS detail
        FROM topups t
        JOIN accounts a ON a.id = t.account_id
        JOIN ledger_entries own ON own.account_id = t.account_id AND own.effect_key = 'topup:' || t.uuid
       CROSS JOIN LATERAL ${newerCreditsSql('t.account_id', 'own.number', 'a.ledger_count + 1')} newer
       WHERE t.credits_reversed < floor(t.credits::numeric * t.reversed_cents / coalesce(t.net_cents, t.amount_cents))
         AND a.topup_credits > newer.credits`,
  },
  {
    name: 'reversals-take-their-own-credits',
    statement: 'A reversal of a top-up leaves what was bought and given after the top-up as it was.',
    checkedWhen: 'always',
    query: `
      SELECT taken.account_id, 'top-up ' || topup AS subject,
             format('entry %s took %s credits and left %s, of which %s are newer', number, -amount, bucket.credits, newer.credits) AS detail
        FROM (${LOT_CHANGES}) taken
       CROSS JOIN LATERAL (SELECT sum(amount - plan_amount) AS credits FROM ledger_entries e
                            WHERE e.account_id = taken.account_id AND e.number <= taken.number) bucket
       CROSS JOIN LATERAL ${newerCreditsSql('taken.account_id', 'taken.lot', 'taken.number')} newer
       WHERE taken.amount < 0 AND taken.topup IS NOT NULL AND bucket.credits < newer.credits`,
  },
  {
    // Plans that sell the same credits for the order are one rate to the service. The history of a database that was
    // restored may be incomplete: without any, all plans of the catalog count.
    name: 'topup-credits-match-their-net-amount',
    statement:
      'The net amount of a paid top-up is the order less discounts, and its credits are those that the net amount buys on a plan that the account had.',
    checkedWhen: 'always',
    query: `
      SELECT t.account_id, 'top-up ' || t.uuid AS subject,
             format('%s credits for %s cents net; %s cents ordered, %s discount, %s tax; the account had %s', t.credits, t.net_cents,
                    t.amount_cents, t.discount_cents, t.tax_cents, coalesce(array_to_string(had.plans, ', '), 'no plan')) AS detail
        FROM topups t
        LEFT JOIN (SELECT s.account_id, array_agg(DISTINCT p.plan_slug) AS plans
                     FROM subscriptions s JOIN subscription_plans p ON p.subscription_id = s.id GROUP BY 1) had
               ON had.account_id = t.account_id
       WHERE t.net_cents IS NOT NULL
         AND (t.net_cents + t.discount_cents <> t.amount_cents OR least(t.net_cents, t.discount_cents, t.tax_cents) < 0
              OR t.status <> 'succeeded'
              OR NOT EXISTS (SELECT FROM catalog_plans own
                               JOIN catalog_plans plan ON ${creditsSql('t.amount_cents', 'plan')} = ${creditsSql('t.amount_cents', 'own')}
                              WHERE coalesce(own.slug = ANY (had.plans), true)
                                AND ${creditsSql('t.net_cents', 'plan')} = t.credits))`,
  },
  {
    name: 'paid-topups-have-an-invoice',
    statement:
      'A top-up has one invoice exactly if it is paid and its net amount is recorded, on its account and over its amounts.',
    checkedWhen: 'always',
    query: `
      SELECT coalesce(t.account_id, i.account_id) AS account_id, 'top-up ' || coalesce(t.uuid, i.topup_uuid) AS subject,
             format('%s cents net and %s tax; invoice: %s net and %s tax, %s refunded, on account %s',
                    coalesce(t.net_cents::text, 'none'), coalesce(t.tax_cents, 0),
                    coalesce(i.net_cents::text, 'none'), coalesce(i.tax_cents, 0), coalesce(i.refunded_cents, 0),
                    coalesce(i.account_id::text, 'none')) AS detail
        FROM (SELECT * FROM topups WHERE net_cents IS NOT NULL) t
        FULL JOIN (SELECT * FROM invoices WHERE kind = 'topup') i ON i.topup_uuid = t.uuid
       WHERE (t.account_id, t.net_cents, t.tax_cents, t.discount_cents)
               IS DISTINCT FROM (i.account_id, i.net_cents, i.tax_cents, i.discount_cents)
          OR i.refunded_cents NOT BETWEEN 0 AND i.total_cents`,
  },
  {
    // Less the tolerance for the clocks of different processes.
    name: 'automatic-topups-are-an-hour-apart',
    statement: 'Automatic top-ups of an account start at least an hour apart.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'top-up ' || uuid AS subject, format('started %s, the one before %s', created_at, before) AS detail
        FROM (SELECT account_id, uuid, created_at, lag(created_at) OVER (PARTITION BY account_id ORDER BY created_at) AS before
                FROM topups WHERE kind = 'automatic') automatic
       WHERE created_at < before + ${AUTO_TOPUP_INTERVAL_SQL} - ${CLOCK_SKEW_INTERVAL}`,
  },
  {
    name: 'one-automatic-topup-at-a-time',
    statement: 'An account has at most one pending automatic top-up.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'automatic top-ups' AS subject, 'pending: ' || string_agg(uuid::text, ', ' ORDER BY uuid) AS detail
        FROM topups WHERE kind = 'automatic' AND status = 'pending' GROUP BY account_id HAVING count(*) > 1`,
  },
  {
    name: 'auto-topup-claim-is-recorded',
    statement: 'An account has the time of the claim of its last automatic top-up.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'automatic top-ups' AS subject,
             format('claimed %s, the last one started %s', coalesce(a.auto_topup_claimed_at::text, 'never'), t.last) AS detail
        FROM accounts a
        JOIN (SELECT account_id, max(created_at) AS last FROM topups WHERE kind = 'automatic' GROUP BY 1) t ON t.account_id = a.id
       WHERE a.auto_topup_claimed_at IS NULL OR a.auto_topup_claimed_at < t.last - ${CLOCK_SKEW_INTERVAL}`,
  },
  {
    name: 'auto-topup-triggers-follow-burns',
    statement:
      'A recorded trigger of an automatic top-up has a burn at that time, the balance is below the threshold, and the account is neither suspended nor being deleted.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'automatic top-ups' AS subject,
             format('triggered %s, last burn %s, balance %s, threshold %s, suspended %s, deletion requested %s',
                    a.auto_topup_triggered_at, coalesce(b.last::text, 'never'), a.balance,
                    coalesce(a.auto_topup_threshold_credits, 0), coalesce(a.suspended_at::text, 'never'),
                    coalesce(a.deletion_requested_at::text, 'never')) AS detail
        FROM accounts a
        LEFT JOIN LATERAL (SELECT max(created_at) AS last FROM ledger_entries
                            WHERE account_id = a.id AND entry_type = 'burn') b ON true
       WHERE a.auto_topup_triggered_at IS NOT NULL
         AND (coalesce(b.last < a.auto_topup_triggered_at - ${CLOCK_SKEW_INTERVAL}, true)
              OR NOT a.auto_topup_enabled OR a.balance >= a.auto_topup_threshold_credits
              OR a.suspended_at IS NOT NULL OR a.deletion_requested_at IS NOT NULL)`,
  },
  {
    name: 'no-auto-topup-is-unresolved',
    statement: 'No automatic top-up has an unknown outcome.',
    checkedWhen: 'when drained',
    query: `
      SELECT account_id, 'top-up ' || uuid AS subject, format('pending since %s', created_at) AS detail
        FROM topups WHERE kind = 'automatic' AND status = 'pending'`,
  },
];
