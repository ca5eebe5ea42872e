import { UUID_PATTERN } from '../../lib/uuid.ts';
import type { Invariant } from '../invariant.ts';

/** Balances, buckets, and the chain of ledger entries behind them. */

/** Effect keys by entry type, as the callers of `postEntries` build them. */
const EFFECT_KEY_PATTERNS = `(VALUES
  ('grant', '^(grant:${UUID_PATTERN}:[0-9]+(:[a-z0-9-]+)?|restored:${UUID_PATTERN}:[0-9]+|topup:${UUID_PATTERN}:[0-9]+|adjustment:.+)$'), ('rollover', '^rollover:${UUID_PATTERN}:[0-9]+$'),
  ('expiry', '^(expiry:${UUID_PATTERN}:([0-9]+(:(lapsed:)?[0-9]+)?|begin|end(:[0-9]+)?)|topup:${UUID_PATTERN}:[0-9]+|adjustment:.+)$'), ('topup', '^topup:${UUID_PATTERN}$')
) AS effect (entry_type, pattern)`;

export const LEDGER_INVARIANTS: readonly Invariant[] = [
  {
    name: 'balance-is-the-ledger',
    statement: 'The balance of an account is the sum of its ledger entries.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'balance' AS subject,
             format('balance %s, the entries add up to %s', a.balance, coalesce(l.amount, 0)) AS detail
        FROM accounts a
        LEFT JOIN (SELECT account_id, sum(amount) AS amount FROM ledger_entries GROUP BY 1) l ON l.account_id = a.id
       WHERE a.balance <> coalesce(l.amount, 0)`,
  },
  {
    name: 'balance-is-the-last-entry',
    statement: 'The balance of an account equals balance_after of its last ledger entry.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'balance' AS subject,
             format('balance %s, the last entry, number %s, has %s', a.balance, coalesce(l.number, 0), coalesce(l.balance_after, 0)) AS detail
        FROM accounts a
        LEFT JOIN (SELECT DISTINCT ON (account_id) account_id, number, balance_after
                     FROM ledger_entries ORDER BY account_id DESC, number DESC) l ON l.account_id = a.id
       WHERE a.balance <> coalesce(l.balance_after, 0)`,
  },
  {
    name: 'balance-is-its-buckets',
    statement: 'The balance of an account is the sum of its plan credits and its top-up credits.',
    checkedWhen: 'always',
    query: `
      SELECT id AS account_id, 'balance' AS subject,
             format('%s, of which plan %s and top-up %s', balance, plan_credits, topup_credits) AS detail
        FROM accounts WHERE balance <> plan_credits + topup_credits`,
  },
  {
    name: 'buckets-are-the-ledger',
    statement: 'Each bucket of an account is the sum of its ledger entries for that bucket.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'buckets' AS subject,
             format('plan credits %s, entries add up to %s; top-up credits %s, entries add up to %s', a.plan_credits,
                    coalesce(l.plan, 0), a.topup_credits, coalesce(l.topup, 0)) AS detail
        FROM accounts a
        LEFT JOIN (SELECT account_id, sum(plan_amount) AS plan, sum(amount - plan_amount) AS topup
                     FROM ledger_entries GROUP BY 1) l ON l.account_id = a.id
       WHERE (a.plan_credits, a.topup_credits) IS DISTINCT FROM (coalesce(l.plan, 0), coalesce(l.topup, 0))`,
  },
  {
    name: 'ledger-chain-is-unbroken',
    statement: 'The ledger of an account is numbered from 1 without gaps, and each entry has the balance after it.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'ledger entry ' || number AS subject,
             format('entry %s has balance_after %s, the entries up to it add up to %s', place, balance_after, running) AS detail
        FROM (SELECT account_id, number, balance_after, row_number() OVER in_order AS place, sum(amount) OVER in_order AS running
                FROM ledger_entries WINDOW in_order AS (PARTITION BY account_id ORDER BY number)) chain
       WHERE number <> place OR balance_after <> running`,
  },
  {
    name: 'ledger-is-counted',
    statement: 'The count of ledger entries of an account is right.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'ledger' AS subject,
             format('counted %s, found %s', a.ledger_count, coalesce(l.entries, 0)) AS detail
        FROM accounts a
        LEFT JOIN (SELECT account_id, count(*) AS entries FROM ledger_entries GROUP BY 1) l ON l.account_id = a.id
       WHERE a.ledger_count <> coalesce(l.entries, 0)`,
  },
  {
    name: 'nothing-is-negative',
    statement: 'No balance and no bucket is or ever was below zero.',
    checkedWhen: 'always',
    query: `
      SELECT id AS account_id, 'balance' AS subject,
             format('balance %s, plan %s, top-up %s', balance, plan_credits, topup_credits) AS detail
        FROM accounts WHERE least(balance, plan_credits, topup_credits) < 0
       UNION ALL
      SELECT account_id, 'ledger entry ' || number,
             format('balance %s, plan %s, top-up %s afterwards', total, plan, total - plan)
        FROM (SELECT account_id, number, sum(amount) OVER in_order AS total, sum(plan_amount) OVER in_order AS plan
                FROM ledger_entries WINDOW in_order AS (PARTITION BY account_id ORDER BY number)) running
       WHERE least(total, plan, total - plan) < 0`,
  },
  {
    name: 'plan-credits-are-spent-first',
    statement: 'A burn takes credits of top-ups only when it leaves none of the plan, which expire.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'ledger entry ' || number AS subject, format('left %s of the plan', plan) AS detail
        FROM (SELECT account_id, number, entry_type, amount, plan_amount,
                     sum(plan_amount) OVER (PARTITION BY account_id ORDER BY number) AS plan
                FROM ledger_entries) running
       WHERE entry_type = 'burn' AND amount <> plan_amount AND plan > 0`,
  },
  {
    name: 'effects-happen-once',
    statement: 'An effect key has one ledger entry.',
    checkedWhen: 'always',
    query: `
      SELECT min(account_id) AS account_id, effect_key AS subject, count(*) || ' entries' AS detail
        FROM ledger_entries WHERE effect_key IS NOT NULL GROUP BY effect_key HAVING count(*) > 1`,
  },
  {
    name: 'entries-name-their-cause',
    statement: 'Burns and refunds have a generation; every other entry has an effect key of its type.',
    checkedWhen: 'always',
    query: `
      SELECT l.account_id, 'ledger entry ' || l.number AS subject,
             format('%s, generation %s, effect %s', l.entry_type, coalesce(l.generation_uuid::text, 'none'),
                    coalesce(l.effect_key, 'none')) AS detail
        FROM ledger_entries l LEFT JOIN ${EFFECT_KEY_PATTERNS} ON effect.entry_type = l.entry_type
       WHERE CASE WHEN l.entry_type IN ('burn', 'refund') THEN l.generation_uuid IS NULL OR l.effect_key IS NOT NULL
                  ELSE l.generation_uuid IS NOT NULL OR (l.effect_key ~ effect.pattern) IS NOT TRUE END`,
  },
  {
    name: 'entry-signs-match-their-type',
    statement:
      'Burns and expiries are negative, all other entries positive; entries of a period change the plan bucket only, top-ups and adjustments the top-up bucket only.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'ledger entry ' || number AS subject,
             format('%s of %s, of which plan %s (%s)', entry_type, amount, plan_amount, coalesce(effect_key, 'no effect')) AS detail
        FROM ledger_entries
       WHERE (amount < 0) <> (entry_type IN ('burn', 'expiry')) OR amount = 0
          OR CASE WHEN entry_type = 'burn' THEN plan_amount NOT BETWEEN amount AND 0
                  WHEN entry_type = 'refund' THEN plan_amount NOT BETWEEN 0 AND amount
                  ELSE plan_amount <> CASE WHEN effect_key ~ '^(topup|adjustment):' THEN 0 ELSE amount END END`,
  },
  {
    name: 'adjustments-are-described',
    statement:
      'A credit adjustment by staff is a grant that the ledger describes as goodwill, or removes credits and says so.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, effect_key AS subject, format('%s of %s: %s', entry_type, amount, description) AS detail
        FROM ledger_entries
       WHERE effect_key LIKE 'adjustment:%'
         AND CASE WHEN entry_type = 'grant' THEN amount <= 0 OR description NOT LIKE 'Goodwill credits%'
                  ELSE entry_type <> 'expiry' OR amount >= 0 OR description NOT LIKE 'Credits removed%' END`,
  },
  {
    name: 'rows-have-an-account',
    statement: 'Ledger entries, generations and usage sums belong to existing accounts.',
    checkedWhen: 'always',
    query: `
      SELECT owned.account_id, owned.source AS subject, 'the account does not exist' AS detail
        FROM (SELECT account_id, 'ledger' AS source FROM ledger_entries UNION SELECT account_id, 'generations' FROM generations
               UNION SELECT account_id, 'deletions' FROM generation_deletion_counts
               UNION SELECT account_id, 'days' FROM usage_days UNION SELECT account_id, 'totals' FROM usage_totals
               UNION SELECT account_id, 'keys' FROM usage_keys
               UNION SELECT account_id, 'members' FROM usage_members) owned
        LEFT JOIN accounts a ON a.id = owned.account_id
       WHERE a.id IS NULL`,
  },
];
