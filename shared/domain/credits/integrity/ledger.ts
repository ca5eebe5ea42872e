import type { Invariant } from './invariant.ts';

/** Balances, buckets, and the chain of entries that they come from. */

const UUID = '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}';
/** How the effects of a type are called: see shared/domain/credits/ledger.ts and whoever moves credits. */
const EFFECT_KEY_PATTERNS = `(VALUES
  ('grant', '^(grant:${UUID}:[0-9]+(:[a-z]+)?|topup:${UUID}:[0-9]+|goodwill:.+)$'), ('rollover', '^rollover:${UUID}:[0-9]+$'),
  ('expiry', '^(expiry:${UUID}:([0-9]+|begin|end)|topup:${UUID}:[0-9]+)$'), ('topup', '^topup:${UUID}$')
) AS effect (entry_type, pattern)`;

export const LEDGER_INVARIANTS: readonly Invariant[] = [
  {
    name: 'balance-is-the-ledger',
    statement: 'The balance of an account is the sum of its ledger entries.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'balance' AS subject,
             format('the account says %s, the entries add up to %s', a.balance, coalesce(l.amount, 0)) AS detail
        FROM accounts a
        LEFT JOIN (SELECT account_id, sum(amount) AS amount FROM ledger_entries GROUP BY 1) l ON l.account_id = a.id
       WHERE a.balance <> coalesce(l.amount, 0)`,
  },
  {
    name: 'balance-is-the-last-entry',
    statement: 'The balance of an account is what its last ledger entry says that it is afterwards.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'balance' AS subject,
             format('the account says %s, its last entry, number %s, says %s', a.balance, coalesce(l.number, 0), coalesce(l.balance_after, 0)) AS detail
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
    statement: 'Each bucket of an account is the sum of what its ledger entries put into it and took out of it.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'buckets' AS subject,
             format('plan credits are %s and add up to %s, top-up credits are %s and add up to %s', a.plan_credits,
                    coalesce(l.plan, 0), a.topup_credits, coalesce(l.topup, 0)) AS detail
        FROM accounts a
        LEFT JOIN (SELECT account_id, sum(plan_amount) AS plan, sum(amount - plan_amount) AS topup
                     FROM ledger_entries GROUP BY 1) l ON l.account_id = a.id
       WHERE (a.plan_credits, a.topup_credits) IS DISTINCT FROM (coalesce(l.plan, 0), coalesce(l.topup, 0))`,
  },
  {
    name: 'ledger-chain-is-unbroken',
    statement: 'The ledger of an account is numbered 1, 2, 3, ..., and each entry says what the balance is after it.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'ledger entry ' || number AS subject,
             format('it is entry %s, and says %s where the entries up to it add up to %s', place, balance_after, running) AS detail
        FROM (SELECT account_id, number, balance_after, row_number() OVER in_order AS place, sum(amount) OVER in_order AS running
                FROM ledger_entries WINDOW in_order AS (PARTITION BY account_id ORDER BY number)) chain
       WHERE number <> place OR balance_after <> running`,
  },
  {
    name: 'ledger-is-counted',
    statement: 'An account knows how many ledger entries it has, which is the number of the last one.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'ledger' AS subject,
             format('counted %s, there are %s', a.ledger_count, coalesce(l.entries, 0)) AS detail
        FROM accounts a
        LEFT JOIN (SELECT account_id, count(*) AS entries FROM ledger_entries GROUP BY 1) l ON l.account_id = a.id
       WHERE a.ledger_count <> coalesce(l.entries, 0)`,
  },
  {
    name: 'nothing-is-negative',
    statement: 'No balance and neither bucket is below zero, and none ever was.',
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
    name: 'effects-happen-once',
    statement: 'An effect that has a name has one ledger entry.',
    checkedWhen: 'always',
    query: `
      SELECT min(account_id) AS account_id, effect_key AS subject, count(*) || ' entries' AS detail
        FROM ledger_entries WHERE effect_key IS NOT NULL GROUP BY effect_key HAVING count(*) > 1`,
  },
  {
    name: 'entries-name-their-cause',
    statement: 'A burn and a refund name their generation; every other entry has the name of an effect of its type.',
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
      'Burns and expiries take credits, all else gives; plan credits come by the month, and bought or given ones do not touch them.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'ledger entry ' || number AS subject,
             format('%s of %s, of which plan %s (%s)', entry_type, amount, plan_amount, coalesce(effect_key, 'no effect')) AS detail
        FROM ledger_entries
       WHERE (amount < 0) <> (entry_type IN ('burn', 'expiry')) OR amount = 0
          OR CASE WHEN entry_type = 'burn' THEN plan_amount NOT BETWEEN amount AND 0
                  WHEN entry_type = 'refund' THEN plan_amount NOT BETWEEN 0 AND amount
                  ELSE plan_amount <> CASE WHEN effect_key ~ '^(topup|goodwill):' THEN 0 ELSE amount END END`,
  },
  {
    name: 'adjustments-are-grants',
    statement: 'What the staff gives away is a grant, and the ledger calls it goodwill.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, effect_key AS subject, format('%s of %s: %s', entry_type, amount, description) AS detail
        FROM ledger_entries
       WHERE effect_key LIKE 'goodwill:%'
         AND (entry_type <> 'grant' OR amount <= 0 OR description NOT LIKE 'Goodwill credits%')`,
  },
  {
    name: 'rows-have-an-account',
    statement: 'Ledger entries, generations and sums of usage are of accounts that exist.',
    checkedWhen: 'always',
    query: `
      SELECT owned.account_id, owned.of AS subject, 'there is no such account' AS detail
        FROM (SELECT account_id, 'ledger' AS of FROM ledger_entries UNION SELECT account_id, 'generations' FROM generations
               UNION SELECT account_id, 'deletions' FROM generation_deletion_counts
               UNION SELECT account_id, 'days' FROM usage_days UNION SELECT account_id, 'totals' FROM usage_totals) owned
        LEFT JOIN accounts a ON a.id = owned.account_id
       WHERE a.id IS NULL`,
  },
];
