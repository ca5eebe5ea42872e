import type { Invariant } from './invariant.ts';

/** What was used, as the sums that are kept say. */
export const USAGE_INVARIANTS: readonly Invariant[] = [
  {
    name: 'days-are-their-generations',
    statement: 'What an account has used on a day of a model is what its generations of that day cost, less refunds.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, format('%s on %s', model, day) AS subject,
             format('%s generations for %s credits; the rows say %s for %s', coalesce(u.generations, 0), coalesce(u.credits, 0),
                    coalesce(g.generations, 0), coalesce(g.credits, 0)) AS detail
        FROM usage_days u
        FULL JOIN (SELECT account_id, model, (created_at AT TIME ZONE 'UTC')::date AS day, count(*) AS generations,
                          coalesce(sum(credits_charged) FILTER (WHERE status <> 'failed'), 0) AS credits
                     FROM generations GROUP BY 1, 2, 3) g USING (account_id, model, day)
       WHERE (u.generations, u.credits) IS DISTINCT FROM (g.generations, g.credits)`,
  },
  {
    name: 'totals-are-their-days',
    statement: 'What an account has used of a model since it began is the sum of its days.',
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
    name: 'used-this-month-is-burned-this-month',
    statement:
      'What an account has used this month is what its generations since the month was turned cost, less refunds.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'used this month' AS subject,
             format('the account says %s, the generations after number %s say %s', a.period_used, a.generation_count_at_period_start, coalesce(g.used, 0)) AS detail
        FROM accounts a
        LEFT JOIN (SELECT g.account_id, sum(g.credits_charged) AS used
                     FROM generations g JOIN accounts owner ON owner.id = g.account_id AND g.number > owner.generation_count_at_period_start
                    WHERE g.status <> 'failed' GROUP BY 1) g ON g.account_id = a.id
       WHERE a.period_used <> coalesce(g.used, 0)`,
  },
  {
    name: 'no-use-is-negative',
    statement: 'What an account has used, this month, of a day or of a model, is not below zero.',
    checkedWhen: 'always',
    query: `
      SELECT id AS account_id, 'used this month' AS subject, period_used::text AS detail FROM accounts WHERE period_used < 0
       UNION ALL
      SELECT account_id, format('%s on %s', model, day), format('%s generations for %s credits', generations, credits)
        FROM usage_days WHERE credits < 0 OR generations < 0
       UNION ALL
      SELECT account_id, model, format('%s generations for %s credits', generations, credits)
        FROM usage_totals WHERE credits < 0 OR generations < 0`,
  },
];
