import type { Invariant } from '../invariant.ts';

/** Suspensions and reinstatements in the audit log, each with the one before and the one after it. */
const SUSPENSIONS = `
  SELECT account_id, uuid, action, after, lag(action) OVER next AS previous_action, lead(before) OVER next AS reinstated,
         lead(number) OVER next AS next_number
    FROM audit_entries WHERE action IN ('account.suspend', 'account.reinstate')
  WINDOW next AS (PARTITION BY account_id ORDER BY number)`;

/** Suspensions of accounts. */
export const SUSPENSION_INVARIANTS: readonly Invariant[] = [
  {
    name: 'suspensions-are-audited',
    statement:
      'An account is suspended exactly if the last suspension or reinstatement in its audit log is a suspension, and each of them follows the other.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'account' AS subject,
             format('suspended since %s, last entry %s', coalesce(a.suspended_at::text, 'never'), coalesce(l.action, 'none'))
               AS detail
        FROM accounts a
        LEFT JOIN (SELECT DISTINCT ON (account_id) account_id, action FROM audit_entries
                    WHERE action IN ('account.suspend', 'account.reinstate') ORDER BY account_id, number DESC) l
          ON l.account_id = coalesce(a.live_account_id, a.id)
       WHERE (a.suspended_at IS NOT NULL) IS DISTINCT FROM (coalesce(l.action, '') = 'account.suspend')
      UNION ALL
      SELECT account_id, 'audit entry ' || uuid, format('%s after %s', action, coalesce(previous_action, 'none'))
        FROM (${SUSPENSIONS}) s
       WHERE action = coalesce(previous_action, 'account.reinstate')`,
  },
  {
    name: 'suspended-creates-nothing',
    statement:
      'No generation is created while an account is suspended: its count stays the same until it is reinstated.',
    checkedWhen: 'always',
    query: `
      SELECT s.account_id, 'suspension ' || s.uuid AS subject,
             format('%s generations then, %s later', s.after->>'generation_count',
                    coalesce(s.reinstated->>'generation_count', a.generation_count::text)) AS detail
        FROM (${SUSPENSIONS}) s
        JOIN accounts a ON a.id = s.account_id
       WHERE s.action = 'account.suspend'
         AND s.after->>'generation_count' IS DISTINCT FROM
             CASE WHEN s.next_number IS NULL THEN a.generation_count::text ELSE s.reinstated->>'generation_count' END`,
  },
];
