import type { Invariant } from '../invariant.ts';

/** Staff actions that move credits or money: each has its audit entry, and each audit entry its effect. */

export const STAFF_ACTION_INVARIANTS: readonly Invariant[] = [
  {
    name: 'adjustments-are-audited',
    statement:
      'Every credit adjustment by staff has one audit entry with its amount, and every such entry its adjustment.',
    checkedWhen: 'always',
    query: `
      SELECT coalesce(l.account_id, e.account_id) AS account_id, 'ledger entry ' || coalesce(l.number, e.number) AS subject,
             format('%s credits, %s audit entries of %s', coalesce(l.amount::text, 'no adjustment of'), coalesce(e.entries, 0),
                    coalesce(e.credits, 0)) AS detail
        FROM (SELECT account_id, number, amount FROM ledger_entries WHERE effect_key LIKE 'adjustment:%') l
        FULL JOIN (SELECT account_id, (after->>'ledgerEntry')::bigint AS number, count(*) AS entries,
                          sum((after->>'credits')::bigint) AS credits
                     FROM audit_entries WHERE action = 'credits.adjust' GROUP BY 1, 2) e
               ON e.account_id = l.account_id AND e.number = l.number
       WHERE (l.amount::bigint, 1) IS DISTINCT FROM (e.credits::bigint, e.entries)`,
  },
  {
    name: 'staff-refunds-are-audited',
    statement: 'Every refund of a succeeded generation has one audit entry, and every such entry its refund.',
    checkedWhen: 'always',
    query: `
      SELECT coalesce(g.account_id, e.account_id) AS account_id, 'generation ' || coalesce(g.uuid::text, e.target_id) AS subject,
             format('refunded %s, %s audit entries', coalesce(g.refunded_at::text, 'never'), coalesce(e.entries, 0)) AS detail
        FROM (SELECT uuid, account_id, refunded_at FROM generations WHERE refunded_at IS NOT NULL) g
        FULL JOIN (SELECT account_id, target_id, count(*) AS entries
                     FROM audit_entries WHERE action = 'generation.refund' GROUP BY 1, 2) e
               ON e.account_id = g.account_id AND e.target_id = g.uuid::text
       WHERE g.uuid IS NULL OR e.entries IS DISTINCT FROM 1`,
  },
  {
    name: 'topup-refunds-are-audited',
    statement:
      'Every refund of a top-up is of a paid top-up of its account; one by staff has one audit entry, others have none, and every such entry has its refund.',
    checkedWhen: 'always',
    query: `
      SELECT coalesce(r.account_id, e.account_id) AS account_id, 'top-up ' || coalesce(r.topup_uuid::text, e.target_id) AS subject,
             format('%s (%s), of account %s, top-up %s of account %s, %s audit entries', coalesce(r.status, 'no refund'),
                    coalesce(r.cause, 'none'), coalesce(r.account_id::text, 'none'), coalesce(t.status, 'missing'), coalesce(t.account_id::text, 'none'),
                    coalesce(e.entries, 0)) AS detail
        FROM (SELECT * FROM owed_refunds WHERE topup_uuid IS NOT NULL) r
        FULL JOIN (SELECT account_id, target_id, count(*) AS entries
                     FROM audit_entries WHERE action = 'topup.refund' GROUP BY 1, 2) e
               ON e.account_id = r.account_id AND e.target_id = r.topup_uuid::text
        LEFT JOIN topups t ON t.uuid = r.topup_uuid
       WHERE (r.account_id, CASE r.cause WHEN 'staff' THEN 1 ELSE 0 END, 'succeeded')
               IS DISTINCT FROM (t.account_id, coalesce(e.entries, 0), t.status)`,
  },
];

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
