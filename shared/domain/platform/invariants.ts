import type { Invariant } from '../invariant.ts';

/** Sums of the staff metrics (docs/metrics.md), compared with the rows that they summarize. */

const COUNTED_SUMS = `
  SELECT 'accounts' AS metric, onboarding_step AS label, (created_at AT TIME ZONE 'UTC')::date AS day, count(*) AS count,
         0::numeric AS amount FROM accounts WHERE live_account_id IS NULL GROUP BY 2, 3
   UNION ALL SELECT 'subscriptions', plan_slug, NULL, count(*), 0 FROM subscriptions
              WHERE status IN ('active', 'past_due') GROUP BY 2
   UNION ALL SELECT 'canceling', plan_slug, NULL, count(*), 0 FROM subscriptions
              WHERE status IN ('active', 'past_due') AND cancel_at_period_end GROUP BY 2
   UNION ALL SELECT 'started', plan_slug, (activated_at AT TIME ZONE 'UTC')::date, count(*), 0 FROM subscriptions
              WHERE activated_at IS NOT NULL GROUP BY 2, 3
   UNION ALL SELECT 'topups', kind, (completed_at AT TIME ZONE 'UTC')::date, count(*),
                    sum(coalesce(net_cents, amount_cents) - reversed_cents) FROM topups WHERE status = 'succeeded' GROUP BY 2, 3
   UNION ALL SELECT 'usage', model, (created_at AT TIME ZONE 'UTC')::date, count(*),
                    coalesce(sum(credits_charged) FILTER (WHERE status <> 'failed' AND refunded_at IS NULL), 0)
               FROM generations WHERE NOT is_test GROUP BY 2, 3
   UNION ALL SELECT 'cost', model, (created_at AT TIME ZONE 'UTC')::date, count(*), sum(provider_cost_cents)
               FROM generations WHERE provider_cost_cents IS NOT NULL AND NOT is_test GROUP BY 2, 3`;

/** Builds a query for the differences between stored and counted sums. A missing sum counts as zero. */
const compareSumsSql = (subject: string, rows: string, stored: string) => `
  SELECT NULL::bigint AS account_id, ${subject} AS subject,
         format('stored: count %s, amount %s; counted: count %s, amount %s', coalesce(sum(count) FILTER (WHERE is_stored), 0),
                coalesce(sum(amount) FILTER (WHERE is_stored), 0), coalesce(sum(count) FILTER (WHERE NOT is_stored), 0),
                coalesce(sum(amount) FILTER (WHERE NOT is_stored), 0)) AS detail
    FROM (SELECT true AS is_stored, metric, label, day, count, amount FROM (${stored}) stored
           UNION ALL SELECT false, metric, label, day, count, amount FROM (${rows}) counted) sums
   GROUP BY ${subject}
  HAVING sum(CASE WHEN is_stored THEN count ELSE -count END) <> 0 OR sum(CASE WHEN is_stored THEN amount ELSE -amount END) <> 0`;

export const STAFF_METRIC_INVARIANTS: readonly Invariant[] = [
  {
    name: 'metric-days-match-rows',
    statement: 'The staff metrics of a day equal the sum of the rows of that day.',
    checkedWhen: 'always',
    query: compareSumsSql(
      `format('%s, %s on %s', metric, label, day)`,
      `SELECT * FROM (${COUNTED_SUMS}) raw WHERE day IS NOT NULL`,
      `SELECT metric, label, day, count, amount FROM metric_days
        UNION ALL SELECT metric, label, day, count, amount FROM metric_deltas WHERE day IS NOT NULL`,
    ),
  },
  {
    name: 'metric-totals-match-rows',
    statement: 'The staff metrics since the service started equal the sum of all rows.',
    checkedWhen: 'always',
    query: compareSumsSql(
      `format('%s, %s', metric, label)`,
      COUNTED_SUMS,
      `SELECT metric, label, NULL::date AS day, count, amount FROM metric_totals
        UNION ALL SELECT metric, label, day, count, amount FROM metric_deltas`,
    ),
  },
];
