import { ACTIVE_API_KEYS_MAX } from '../../../spec/limits.ts';
import type { Invariant } from './invariant.ts';

/** API keys, and requests that may be repeated. */
export const API_KEY_INVARIANTS: readonly Invariant[] = [
  {
    name: 'keys-are-counted',
    statement:
      'The API keys of an account are numbered 1, 2, 3, ..., and it knows how many there are and how many are active.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'API keys' AS subject,
             format('counted %s, active %s; there are %s, the last is number %s, active %s', a.key_count, a.active_key_count,
                    coalesce(k.times, 0), coalesce(k.last, 0), coalesce(k.active, 0)) AS detail
        FROM accounts a
        LEFT JOIN (SELECT account_id, count(*) AS times, max(number) AS last, count(*) FILTER (WHERE revoked_at IS NULL) AS active
                     FROM api_keys GROUP BY 1) k ON k.account_id = a.id
       WHERE (a.key_count, a.key_count, a.active_key_count)
               IS DISTINCT FROM (coalesce(k.times, 0), coalesce(k.last, 0), coalesce(k.active, 0))`,
  },
  {
    name: 'keys-within-the-limit',
    statement: `An account has at most ${ACTIVE_API_KEYS_MAX} active API keys.`,
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'API keys' AS subject, count(*) || ' are active' AS detail
        FROM api_keys WHERE revoked_at IS NULL GROUP BY account_id HAVING count(*) > ${ACTIVE_API_KEYS_MAX}`,
  },
  {
    // One that has ended without an answer, or died, is dated back by a minute, or older: see idempotentRequests.ts.
    name: 'idempotent-requests-have-a-response',
    statement: 'A request with an Idempotency-Key has its answer, or is given up and may be made again.',
    checkedWhen: 'when settled',
    query: `
      SELECT account_id, 'request ' || id AS subject, format('%s, under way since %s', scope, created_at) AS detail
        FROM idempotent_requests WHERE answer IS NULL AND created_at > $1 - interval '1 minute'`,
  },
];
