import type { Invariant } from '../invariant.ts';

/** Usage sums, compared with the generations that they summarize. */
export const USAGE_INVARIANTS: readonly Invariant[] = [
  {
    name: 'usage-days-match-generations',
    statement: 'The usage of an account by day and model equals the cost of its generations of that day, less refunds.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, format('%s on %s', model, day) AS subject,
             format('%s generations for %s credits; the rows have %s for %s', coalesce(u.generations, 0), coalesce(u.credits, 0),
                    coalesce(g.generations, 0), coalesce(g.credits, 0)) AS detail
        FROM usage_days u
        FULL JOIN (SELECT account_id, model, (created_at AT TIME ZONE 'UTC')::date AS day, count(*) AS generations,
                          coalesce(sum(credits_charged) FILTER (WHERE status <> 'failed' AND refunded_at IS NULL), 0) AS credits
                     FROM generations GROUP BY 1, 2, 3) g USING (account_id, model, day)
       WHERE (u.generations, u.credits) IS DISTINCT FROM (g.generations, g.credits)`,
  },
  {
    name: 'usage-totals-match-days',
    statement: 'The total usage of an account by model is the sum of its days.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, model AS subject,
             format('%s generations for %s credits; the days add up to %s for %s', coalesce(t.generations, 0), coalesce(t.credits, 0),
                    coalesce(d.generations, 0), coalesce(d.credits, 0)) AS detail
        FROM usage_totals t
        FULL JOIN (SELECT account_id, model, sum(generations) AS generations, sum(credits) AS credits FROM usage_days GROUP BY 1, 2) d
            USING (account_id, model)
       WHERE (t.generations, t.credits) IS DISTINCT FROM (d.generations, d.credits)`,
  },
  {
    name: 'usage-keys-match-generations',
    statement:
      'The usage of an API key equals the cost of the generations that it created, less refunds, and the key belongs to their account.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'API key ' || key_number AS subject,
             format('%s generations for %s credits; the rows have %s for %s, and the key %s', coalesce(u.generations, 0),
                    coalesce(u.credits, 0), coalesce(g.generations, 0), coalesce(g.credits, 0),
                    CASE WHEN k.is_found THEN 'exists' ELSE 'does not exist' END) AS detail
        FROM usage_keys u
        FULL JOIN (SELECT account_id, api_key_number AS key_number, count(*) AS generations,
                          coalesce(sum(credits_charged) FILTER (WHERE status <> 'failed' AND refunded_at IS NULL), 0)
                            AS credits
                     FROM generations WHERE api_key_number IS NOT NULL GROUP BY 1, 2) g USING (account_id, key_number)
        LEFT JOIN (SELECT coalesce(test_account_id, account_id) AS account_id, number AS key_number, true AS is_found
                     FROM api_keys) k USING (account_id, key_number)
       WHERE (u.generations, u.credits) IS DISTINCT FROM (g.generations, g.credits) OR k.is_found IS NULL`,
  },
  {
    name: 'usage-members-match-generations',
    statement:
      'The usage of a member equals the cost of the generations that it created, less refunds, in every account that has had more than one member.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'member ' || member_number AS subject,
             format('%s generations for %s credits; the rows have %s for %s', coalesce(u.generations, 0),
                    coalesce(u.credits, 0), coalesce(g.generations, 0), coalesce(g.credits, 0)) AS detail
        FROM (SELECT u.* FROM usage_members u JOIN accounts a ON a.id = u.account_id AND a.member_count > 1) u
        FULL JOIN (SELECT g.account_id, g.member_number, count(*) AS generations,
                          coalesce(sum(g.credits_charged) FILTER (WHERE g.status <> 'failed' AND g.refunded_at IS NULL), 0)
                            AS credits
                     FROM generations g JOIN accounts a ON a.id = g.account_id AND a.member_count > 1
                    WHERE g.member_number IS NOT NULL GROUP BY 1, 2) g USING (account_id, member_number)
       WHERE (u.generations, u.credits) IS DISTINCT FROM (g.generations, g.credits)`,
  },
  {
    name: 'used-this-month-is-burned-this-month',
    statement:
      'The usage of an account in the current period equals the cost of its generations since the period started, less refunds.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'usage of the period' AS subject,
             format('period_used %s, the generations after number %s cost %s', a.period_used, a.generation_count_at_period_start, coalesce(g.used, 0)) AS detail
        FROM accounts a
        LEFT JOIN (SELECT g.account_id, sum(g.credits_charged) AS used
                     FROM generations g JOIN accounts owner ON owner.id = g.account_id AND g.number > owner.generation_count_at_period_start
                    WHERE g.status <> 'failed' AND g.refunded_at IS NULL GROUP BY 1) g ON g.account_id = a.id
       WHERE a.period_used <> coalesce(g.used, 0)`,
  },
  {
    name: 'no-use-is-negative',
    statement: 'No usage of a period, a day or a model is below zero.',
    checkedWhen: 'always',
    query: `
      SELECT id AS account_id, 'usage of the period' AS subject, period_used::text AS detail FROM accounts WHERE period_used < 0
       UNION ALL
      SELECT account_id, format('%s on %s', model, day), format('%s generations for %s credits', generations, credits)
        FROM usage_days WHERE credits < 0 OR generations < 0
       UNION ALL
      SELECT account_id, model, format('%s generations for %s credits', generations, credits)
        FROM usage_totals WHERE credits < 0 OR generations < 0
       UNION ALL
      SELECT account_id, 'API key ' || key_number, format('%s generations for %s credits', generations, credits)
        FROM usage_keys WHERE credits < 0 OR generations < 0
       UNION ALL
      SELECT account_id, 'member ' || member_number, format('%s generations for %s credits', generations, credits)
        FROM usage_members WHERE credits < 0 OR generations < 0`,
  },
];
