import { ACTIVE_API_KEYS_MAX } from '../../spec/limits.ts';
import { TEST_UPSTREAM_NAME } from '../../spec/testMode.ts';
import type { Invariant } from '../invariant.ts';

/** Tables whose rows mean money, access or messages. A test account has none of them. */
const FORBIDDEN_TABLES = [
  'ledger_entries',
  'subscriptions',
  'topups',
  'invoices',
  'referrals',
  'affiliates',
  'commissions',
  'sessions',
  'members',
  'oauth_grants',
  'api_keys',
  'emails',
] as const;

const countForbiddenRows = FORBIDDEN_TABLES.map(
  (table) => `SELECT '${table}' AS name, count(*) AS rows FROM ${table} WHERE account_id = a.id`,
).join(' UNION ALL ');

/** API keys, requests with an Idempotency-Key, the access to accounts that are being deleted, and test accounts. */
export const ACCOUNT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'keys-are-counted',
    statement:
      'The API keys of an account are numbered from 1 without gaps, and its counts of all and of active keys are right.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'API keys' AS subject,
             format('counted %s, active %s; found %s, last number %s, active %s', a.key_count, a.active_key_count,
                    coalesce(k.total, 0), coalesce(k.last, 0), coalesce(k.active, 0)) AS detail
        FROM accounts a
        LEFT JOIN (SELECT account_id, count(*) AS total, max(number) AS last, count(*) FILTER (WHERE revoked_at IS NULL) AS active
                     FROM api_keys GROUP BY 1) k ON k.account_id = a.id
       WHERE (a.key_count, a.key_count, a.active_key_count)
               IS DISTINCT FROM (coalesce(k.total, 0), coalesce(k.last, 0), coalesce(k.active, 0))`,
  },
  {
    name: 'keys-within-the-limit',
    statement: `An account has at most ${ACTIVE_API_KEYS_MAX} active API keys.`,
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'API keys' AS subject, count(*) || ' active' AS detail
        FROM api_keys WHERE revoked_at IS NULL GROUP BY account_id HAVING count(*) > ${ACTIVE_API_KEYS_MAX}`,
  },
  {
    name: 'deleted-accounts-have-no-access',
    statement: 'An account whose deletion was requested has no active API key or grant, and no automatic top-ups.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'deletion' AS subject,
             format('requested %s; %s active keys, %s active grants, automatic top-ups %s', a.deletion_requested_at, k.keys,
                    g.grants, a.auto_topup_enabled) AS detail
        FROM accounts a
       CROSS JOIN LATERAL (SELECT count(*) AS keys FROM api_keys WHERE account_id = a.id AND revoked_at IS NULL) k
       CROSS JOIN LATERAL (SELECT count(*) AS grants FROM oauth_grants WHERE account_id = a.id AND revoked_at IS NULL) g
       WHERE a.deletion_requested_at IS NOT NULL AND (k.keys > 0 OR g.grants > 0 OR a.auto_topup_enabled)`,
  },
  {
    name: 'deletions-are-scheduled',
    statement: 'An account whose deletion was requested is erased, or has a row from which a sweep erases it.',
    checkedWhen: 'always',
    query: `
      SELECT coalesce(a.id, d.account_id) AS account_id, 'deletion' AS subject,
             format('requested %s, erased %s, status %s', coalesce(a.deletion_requested_at::text, 'never'),
                    coalesce(a.erased_at::text, 'never'), coalesce(d.status, 'none')) AS detail
        FROM accounts a FULL JOIN account_deletions d ON d.account_id = coalesce(a.live_account_id, a.id)
       WHERE (a.deletion_requested_at IS NOT NULL AND a.erased_at IS NULL AND coalesce(d.status, 'undone') = 'undone')
          OR (d.status IN ('pending', 'erasing') AND a.deletion_requested_at IS NULL)`,
  },
  {
    // A request that ended without a response is backdated by a minute: see idempotentRequests.ts.
    name: 'idempotent-requests-have-a-response',
    statement: 'A request with an Idempotency-Key has its response, or was given up and may be repeated.',
    checkedWhen: 'when drained',
    query: `
      SELECT account_id, 'request ' || id AS subject, format('%s, in progress since %s', scope, created_at) AS detail
        FROM idempotent_requests WHERE response IS NULL AND created_at > $1 - interval '1 minute'`,
  },
  // Test accounts and their generations (docs/test-mode.md).
  {
    name: 'test-accounts-have-no-credits',
    statement:
      'A test account has no credits, no ledger entries, no payments, no credentials of its own and no e-mail messages.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, found.name AS subject, found.rows || ' rows' AS detail
        FROM accounts a CROSS JOIN LATERAL (${countForbiddenRows}) found
       WHERE a.live_account_id IS NOT NULL AND found.rows > 0
       UNION ALL
      SELECT id, 'account', format('balance %s, %s ledger entries, plan %s, customer %s, automatic top-ups %s', balance,
             ledger_count, coalesce(plan_slug, 'none'), coalesce(stripe_customer_id, 'none'), auto_topup_enabled)
        FROM accounts
       WHERE live_account_id IS NOT NULL AND (balance <> 0 OR plan_credits <> 0 OR topup_credits <> 0 OR ledger_count <> 0
             OR period_used <> 0 OR plan_slug IS NOT NULL OR stripe_customer_id IS NOT NULL OR auto_topup_enabled)`,
  },
  {
    name: 'test-accounts-belong-to-a-live-account',
    statement:
      'A test account belongs to a live account that has no other one, and is suspended and being deleted exactly if that is.',
    checkedWhen: 'always',
    query: `
      SELECT t.id AS account_id, 'account ' || t.live_account_id AS subject,
             format('of %s; suspended %s and %s, deletion requested %s and %s, %s test accounts',
                    CASE WHEN l.id IS NULL THEN 'no account' WHEN l.live_account_id IS NULL THEN 'a live account' ELSE 'a test account' END,
                    coalesce(t.suspended_at::text, 'never'), coalesce(l.suspended_at::text, 'never'),
                    coalesce(t.deletion_requested_at::text, 'never'), coalesce(l.deletion_requested_at::text, 'never'),
                    t.siblings) AS detail
        FROM (SELECT *, count(*) OVER (PARTITION BY live_account_id) AS siblings
                FROM accounts WHERE live_account_id IS NOT NULL) t
        LEFT JOIN accounts l ON l.id = t.live_account_id
       WHERE l.id IS NULL OR l.live_account_id IS NOT NULL OR t.siblings > 1
          OR (t.suspended_at IS NULL) <> (l.suspended_at IS NULL)
          OR (t.deletion_requested_at IS NULL AND l.deletion_requested_at IS NOT NULL)
          -- An erasure begins with the test account.
          OR (t.deletion_requested_at IS NOT NULL AND t.erased_at IS NULL AND l.deletion_requested_at IS NULL)`,
  },
  {
    name: 'test-keys-act-on-the-test-account',
    statement: 'A test key acts on the test account of the account that it belongs to.',
    checkedWhen: 'always',
    query: `
      SELECT k.account_id, 'API key ' || k.number AS subject,
             format('acts on account %s of account %s', k.test_account_id, coalesce(t.live_account_id::text, 'none')) AS detail
        FROM api_keys k LEFT JOIN accounts t ON t.id = k.test_account_id
       WHERE k.test_account_id IS NOT NULL AND t.live_account_id IS DISTINCT FROM k.account_id`,
  },
  {
    name: 'test-generations-are-separate',
    statement:
      'The generations of test accounts, and no others, are test generations: they cost nothing, only the test upstream runs them, and their outputs are watermarked.',
    checkedWhen: 'always',
    query: `
      SELECT g.account_id, 'generation ' || g.uuid AS subject,
             format('%s generation of a %s account, %s credits, cost %s, upstream %s, %s, %s', CASE WHEN g.is_test THEN 'test' ELSE 'live' END,
                    CASE WHEN a.live_account_id IS NULL THEN 'live' ELSE 'test' END, g.credits_charged,
                    coalesce(g.provider_cost_cents::text, 'none'), coalesce(g.upstream, 'none'), g.status,
                    CASE WHEN g.is_watermarked THEN 'watermarked' ELSE 'not watermarked' END) AS detail
        FROM generations g JOIN accounts a ON a.id = g.account_id
       WHERE g.is_test <> (a.live_account_id IS NOT NULL)
          OR g.is_test <> (g.credits_charged = 0)
          OR (g.is_test AND (g.upstream <> '${TEST_UPSTREAM_NAME}' OR g.provider_cost_cents IS NOT NULL))
          OR (NOT g.is_test AND g.upstream = '${TEST_UPSTREAM_NAME}')
          OR (g.is_test AND g.status = 'succeeded' AND NOT g.is_watermarked)`,
  },
];
