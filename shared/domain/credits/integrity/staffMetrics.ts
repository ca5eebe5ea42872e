import type { Invariant } from './invariant.ts';

/** The sums for the staff (docs/metrics.md), against the rows that they are of, counted anew. */

const COUNTED_SUMS = `
  SELECT 'accounts' AS metric, onboarding_step AS label, (created_at AT TIME ZONE 'UTC')::date AS day, count(*) AS times,
         0::numeric AS amount FROM accounts GROUP BY 2, 3
   UNION ALL SELECT 'subscriptions', plan_slug, NULL, count(*), 0 FROM subscriptions
              WHERE status IN ('active', 'past_due') GROUP BY 2
   UNION ALL SELECT 'canceling', plan_slug, NULL, count(*), 0 FROM subscriptions
              WHERE status IN ('active', 'past_due') AND cancel_at_period_end GROUP BY 2
   UNION ALL SELECT 'begun', plan_slug, (activated_at AT TIME ZONE 'UTC')::date, count(*), 0 FROM subscriptions
              WHERE activated_at IS NOT NULL GROUP BY 2, 3
   UNION ALL SELECT 'topups', kind, (completed_at AT TIME ZONE 'UTC')::date, count(*), sum(amount_cents - reversed_cents)
               FROM topups WHERE status = 'succeeded' GROUP BY 2, 3
   UNION ALL SELECT 'usage', model, (created_at AT TIME ZONE 'UTC')::date, count(*),
                    coalesce(sum(credits_charged) FILTER (WHERE status <> 'failed'), 0) FROM generations GROUP BY 2, 3
   UNION ALL SELECT 'cost', model, (created_at AT TIME ZONE 'UTC')::date, count(*), sum(provider_cost_cents)
               FROM generations WHERE provider_cost_cents IS NOT NULL GROUP BY 2, 3`;

/** What differs between sums, which count as nothing where they are missing. */
const compareSumsSql = (subject: string, rows: string, kept: string) => `
  SELECT NULL::bigint AS account_id, ${subject} AS subject,
         format('the sums say %s times and %s, the rows %s times and %s', coalesce(sum(times) FILTER (WHERE is_kept), 0),
                coalesce(sum(amount) FILTER (WHERE is_kept), 0), coalesce(sum(times) FILTER (WHERE NOT is_kept), 0),
                coalesce(sum(amount) FILTER (WHERE NOT is_kept), 0)) AS detail
    FROM (SELECT true AS is_kept, metric, label, day, times, amount FROM (${kept}) kept
           UNION ALL SELECT false, metric, label, day, times, amount FROM (${rows}) counted) sums
   GROUP BY ${subject}
  HAVING sum(CASE WHEN is_kept THEN times ELSE -times END) <> 0 OR sum(CASE WHEN is_kept THEN amount ELSE -amount END) <> 0`;

export const STAFF_METRIC_INVARIANTS: readonly Invariant[] = [
  {
    name: 'metric-days-are-their-rows',
    statement: 'What the staff sees of a day is what the rows of that day add up to.',
    checkedWhen: 'always',
    query: compareSumsSql(
      `format('%s, %s on %s', metric, label, day)`,
      `SELECT * FROM (${COUNTED_SUMS}) raw WHERE day IS NOT NULL`,
      `SELECT metric, label, day, times, amount FROM metric_days
        UNION ALL SELECT metric, label, day, times, amount FROM metric_deltas WHERE day IS NOT NULL`,
    ),
  },
  {
    name: 'metric-totals-are-their-rows',
    statement: 'What the staff sees of all the time since the service began is what all rows add up to.',
    checkedWhen: 'always',
    query: compareSumsSql(
      `format('%s, %s', metric, label)`,
      COUNTED_SUMS,
      `SELECT metric, label, NULL::date AS day, times, amount FROM metric_totals
        UNION ALL SELECT metric, label, day, times, amount FROM metric_deltas`,
    ),
  },
];
