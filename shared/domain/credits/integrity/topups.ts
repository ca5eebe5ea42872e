import { AUTO_TOPUP_INTERVAL_MS } from '../../../spec/limits.ts';
import { CLOCK_SKEW_INTERVAL, type Invariant } from './invariant.ts';

/** Bought credits: an entry for every payment, what went back of it, and automatic ones not too often. */

const AUTO_TOPUP_INTERVAL_SQL = `interval '${AUTO_TOPUP_INTERVAL_MS} milliseconds'`;

/** Entries of top-ups: `topup:{uuid}`, and `topup:{uuid}:{n}` for each time that some of it went back or came again. */
const TOPUP_ENTRIES = `
  SELECT account_id, number, entry_type, amount, plan_amount, split_part(effect_key, ':', 2) AS topup,
         cast(substring(effect_key from '^topup:[^:]+:([0-9]{1,6})$') AS int) AS adjustment
    FROM ledger_entries WHERE effect_key LIKE 'topup:%'`;

export const TOPUP_INVARIANTS: readonly Invariant[] = [
  {
    name: 'one-entry-a-paid-topup',
    statement:
      'A top-up that was paid has one ledger entry, on its account and of its credits; no other top-up has one, and no entry is without its top-up.',
    checkedWhen: 'always',
    query: `
      SELECT coalesce(t.account_id, e.account_id) AS account_id, 'top-up ' || coalesce(t.uuid::text, e.topup) AS subject,
             format('%s, %s credits; %s entries of %s credits on account %s', coalesce(t.status, 'missing'), coalesce(t.credits, 0),
                    coalesce(e.entries, 0), coalesce(e.credits, 0), coalesce(e.account_id::text, 'none')) AS detail
        FROM topups t
        FULL JOIN (SELECT topup, min(account_id) AS account_id, count(*) AS entries, sum(amount) AS credits
                     FROM (${TOPUP_ENTRIES}) entry WHERE adjustment IS NULL GROUP BY topup) e ON e.topup = t.uuid::text
       WHERE CASE WHEN t.status = 'succeeded'
                  THEN (t.account_id, 1, t.credits) IS DISTINCT FROM (e.account_id, e.entries, e.credits)
                  ELSE e.entries > 0 END`,
  },
  {
    name: 'reversals-equal-their-entries',
    statement: 'What was taken back of a top-up is what its further ledger entries took, numbered 1, 2, 3, ...',
    checkedWhen: 'always',
    query: `
      SELECT coalesce(t.account_id, e.account_id) AS account_id, 'top-up ' || coalesce(t.uuid::text, e.topup) AS subject,
             format('%s taken back in %s steps; the entries say %s in %s, up to number %s', coalesce(t.credits_reversed, 0),
                    coalesce(t.reversal_count, 0), coalesce(e.credits, 0), coalesce(e.entries, 0), coalesce(e.last, 0)) AS detail
        FROM topups t
        FULL JOIN (SELECT topup, min(account_id) AS account_id, count(*) AS entries, -sum(amount) AS credits, max(adjustment) AS last,
                          count(DISTINCT account_id) AS accounts
                     FROM (${TOPUP_ENTRIES}) entry WHERE adjustment IS NOT NULL GROUP BY topup) e ON e.topup = t.uuid::text
       WHERE (t.credits_reversed, t.reversal_count, t.reversal_count)
               IS DISTINCT FROM (coalesce(e.credits, 0), coalesce(e.entries, 0), coalesce(e.last, 0))
          OR e.account_id <> t.account_id OR e.accounts > 1`,
  },
  {
    name: 'reversed-credits-within-reversed-cents',
    statement:
      'Of a top-up no more credits were taken back than the part of its money that was refunded or is disputed; only of one that was paid.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'top-up ' || uuid AS subject,
             format('%s: %s of %s credits taken back, %s of %s cents reversed, completed %s', status, credits_reversed, credits,
                    reversed_cents, amount_cents, coalesce(completed_at::text, 'never')) AS detail
        FROM topups
       WHERE credits_reversed > floor(credits::numeric * reversed_cents / amount_cents)
          OR (status = 'succeeded' AND (completed_at IS NULL OR failure IS NOT NULL))
          OR (status <> 'succeeded' AND (reversed_cents > 0 OR reversal_count > 0))`,
  },
  {
    // Two minutes less, as the processes' clocks differ.
    name: 'automatic-topups-are-an-hour-apart',
    statement: 'Automatic top-ups of an account begin at least an hour after one another.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'top-up ' || uuid AS subject, format('begun %s, the one before %s', created_at, before) AS detail
        FROM (SELECT account_id, uuid, created_at, lag(created_at) OVER (PARTITION BY account_id ORDER BY created_at) AS before
                FROM topups WHERE kind = 'automatic') automatic
       WHERE created_at < before + ${AUTO_TOPUP_INTERVAL_SQL} - ${CLOCK_SKEW_INTERVAL}`,
  },
  {
    name: 'one-automatic-topup-at-a-time',
    statement: 'Of an account one automatic top-up is under way at the most.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'automatic top-ups' AS subject, 'under way: ' || string_agg(uuid::text, ', ' ORDER BY uuid) AS detail
        FROM topups WHERE kind = 'automatic' AND status = 'pending' GROUP BY account_id HAVING count(*) > 1`,
  },
  {
    name: 'auto-topup-claim-is-recorded',
    statement: 'An account knows when its last automatic top-up began.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'automatic top-ups' AS subject,
             format('the hour was taken %s, the last one began %s', coalesce(a.auto_topup_claimed_at::text, 'never'), t.last) AS detail
        FROM accounts a
        JOIN (SELECT account_id, max(created_at) AS last FROM topups WHERE kind = 'automatic' GROUP BY 1) t ON t.account_id = a.id
       WHERE a.auto_topup_claimed_at IS NULL OR a.auto_topup_claimed_at < t.last - ${CLOCK_SKEW_INTERVAL}`,
  },
  {
    name: 'auto-topup-triggers-follow-burns',
    statement:
      'A recorded trigger of an automatic top-up has a burn of that time, on an account whose balance is below its threshold.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'automatic top-ups' AS subject,
             format('triggered %s, last burn %s, balance %s, threshold %s', a.auto_topup_triggered_at,
                    coalesce(b.last::text, 'never'), a.balance, coalesce(a.auto_topup_threshold_credits, 0)) AS detail
        FROM accounts a
        LEFT JOIN LATERAL (SELECT max(created_at) AS last FROM ledger_entries
                            WHERE account_id = a.id AND entry_type = 'burn') b ON true
       WHERE a.auto_topup_triggered_at IS NOT NULL
         AND (coalesce(b.last < a.auto_topup_triggered_at - ${CLOCK_SKEW_INTERVAL}, true)
              OR NOT a.auto_topup_enabled OR a.balance >= a.auto_topup_threshold_credits)`,
  },
  {
    name: 'no-auto-topup-is-unresolved',
    statement: 'What became of every automatic top-up is known.',
    checkedWhen: 'when settled',
    query: `
      SELECT account_id, 'top-up ' || uuid AS subject, format('pending since %s, looked at again %s', created_at, next_attempt_at) AS detail
        FROM topups WHERE kind = 'automatic' AND status = 'pending'`,
  },
];
