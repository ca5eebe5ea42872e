import type { Invariant } from '../invariant.ts';

/** Members of accounts, and the people behind them. */
export const MEMBER_INVARIANTS: readonly Invariant[] = [
  {
    name: 'accounts-have-one-owner',
    statement:
      'A live account that is not erased has exactly one owner, whose address, name, language, use case and provider it shows; an erased one has no members.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'owner' AS subject,
             format('%s owners, %s of them as shown, %s members, erased %s', count(*) FILTER (WHERE m.role = 'owner'),
                    count(p.id), count(m.number), coalesce(a.erased_at::text, 'never')) AS detail
        FROM accounts a
        LEFT JOIN members m ON m.account_id = a.id AND m.removed_at IS NULL
        LEFT JOIN people p ON p.id = m.person_id AND m.role = 'owner' AND p.erased_at IS NULL
              AND (p.email, p.first_name, p.language, p.use_case, p.social_provider)
                  = (a.email, a.first_name, a.language, a.use_case, a.social_provider)
       WHERE a.live_account_id IS NULL
       GROUP BY a.id, a.erased_at
      HAVING CASE WHEN a.erased_at IS NULL THEN count(p.id) <> 1 OR count(*) FILTER (WHERE m.role = 'owner') <> 1 ELSE count(m.number) > 0 END`,
  },
  {
    name: 'members-are-counted',
    statement: 'The members of an account are numbered from 1 without gaps, and their number is counted.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'members' AS subject,
             format('counted %s; found %s, last number %s', a.member_count, coalesce(m.total, 0), coalesce(m.last, 0)) AS detail
        FROM accounts a
        LEFT JOIN (SELECT account_id, count(*) AS total, max(number) AS last FROM members GROUP BY 1) m ON m.account_id = a.id
       WHERE (a.member_count, a.member_count) IS DISTINCT FROM (coalesce(m.total, 0), coalesce(m.last, 0))`,
  },
  {
    name: 'sessions-belong-to-members',
    statement: 'A session acts on an account of which its person is a member.',
    checkedWhen: 'always',
    query: `
      SELECT s.account_id, 'session ' || s.uuid AS subject,
             format('of person %s, member %s: %s', s.person_id, s.member_number,
                    CASE WHEN m.person_id <> s.person_id THEN 'another person' ELSE 'removed' END) AS detail
        FROM sessions s JOIN members m ON m.account_id = s.account_id AND m.number = s.member_number
       WHERE m.person_id <> s.person_id OR m.removed_at IS NOT NULL`,
  },
  {
    name: 'people-have-an-account',
    statement: 'A person is a member of an account, or is erased and has neither a sign-in method nor a session.',
    checkedWhen: 'always',
    query: `
      SELECT NULL::bigint AS account_id, 'person ' || p.id AS subject,
             format('%s memberships, erased %s, %s sign-in methods, %s sessions', m.count, coalesce(p.erased_at::text, 'never'),
                    i.count, s.count) AS detail
        FROM people p
       CROSS JOIN LATERAL (SELECT count(*) FROM members WHERE person_id = p.id AND removed_at IS NULL) m
       CROSS JOIN LATERAL (SELECT count(*) FROM identities WHERE person_id = p.id) i
       CROSS JOIN LATERAL (SELECT count(*) FROM sessions WHERE person_id = p.id) s
       WHERE (p.erased_at IS NULL) = (m.count = 0) OR p.erased_at IS NOT NULL AND i.count + s.count > 0`,
  },
];
