import type { DomainFeature } from '../feature.ts';

export const ADJUSTMENTS: DomainFeature = {
  invariants: [
    {
      name: 'gift-codes-are-counted',
      statement: 'A gift code has as many redemptions as its count of uses, each of its credits.',
      checkedWhen: 'always',
      query: `
        SELECT cast(NULL AS bigint) AS account_id, 'gift code ' || coalesce(c.uuid, l.code) AS subject,
               format('%s uses of %s credits; %s ledger entries for %s credits', c.uses, c.credits, coalesce(l.entries, 0),
                      coalesce(l.credits, 0)) AS detail
          FROM gift_codes c
          FULL JOIN (SELECT cast(substr(effect_key, 17, 36) AS uuid) AS code, count(*) AS entries, sum(amount) AS credits
                       FROM ledger_entries WHERE effect_key LIKE 'adjustment:gift:%' GROUP BY 1) l ON l.code = c.uuid
         WHERE (c.uses, c.uses * cast(c.credits AS bigint)) IS DISTINCT FROM (coalesce(l.entries, 0), coalesce(l.credits, 0))`,
    },
  ],
};
