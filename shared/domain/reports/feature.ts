import type { DomainFeature } from '../feature.ts';

export const REPORT_SUMS: DomainFeature = {
  invariants: [
    {
      name: 'final-hours-match-generations',
      statement:
        'The final sums of an hour by model equal its generations, their credits without refunds, and their cost.',
      checkedWhen: 'always',
      query: `
        SELECT NULL::bigint AS account_id, format('%s in the hour of %s', model, hour) AS subject,
               format('stored: %s generations, %s credits, %s cents; the rows have %s, %s and %s', coalesce(h.generations, 0),
                      coalesce(h.credits, 0), coalesce(h.cents, 0), coalesce(g.generations, 0), coalesce(g.credits, 0),
                      coalesce(g.cents, 0)) AS detail
          FROM (SELECT hour, model, sum(generations) AS generations, sum(plan_credits + topup_credits) AS credits,
                       sum(provider_cost_cents) AS cents
                  FROM generation_hours
                 WHERE hour < (SELECT finished_until FROM report_progress) AND NOT is_open GROUP BY 1, 2) h
          FULL JOIN (SELECT date_trunc('hour', created_at, 'UTC') AS hour, model, count(*) AS generations,
                            sum(CASE WHEN status = 'failed' THEN 0 ELSE credits_charged END) AS credits,
                            coalesce(sum(provider_cost_cents), 0) AS cents
                       FROM generations
                      WHERE created_at < (SELECT finished_until FROM report_progress) AND NOT is_test GROUP BY 1, 2) g
              USING (hour, model)
         WHERE (h.generations, h.credits, h.cents) IS DISTINCT FROM (g.generations, g.credits, g.cents)`,
    },
  ],
};
