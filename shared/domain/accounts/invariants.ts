import { ACTIVE_API_KEYS_MAX } from '../../spec/limits.ts';
import type { Invariant } from '../invariant.ts';

/** API keys, requests with an Idempotency-Key, and the access to accounts that are being deleted. */
export const API_KEY_INVARIANTS: readonly Invariant[] = [
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
];
