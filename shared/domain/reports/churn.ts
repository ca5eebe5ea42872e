import { getCatalog } from '../../lib/catalog/catalog.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { chartCounts, chooseStep, writeStart } from './range.ts';
import {
  compareRows,
  type ComputedMeasure,
  type PeriodRow,
  percent,
  type ReportDefinition,
  type ReportRange,
  type ReportTable,
  sumBy,
} from './report.ts';

interface SubscriptionCount extends PeriodRow {
  metric: 'started' | 'lapsed' | 'ended early' | 'renewed' | 'active' | 'ending';
  /** Start of the hour, day or week as text; null for the state at this moment. */
  time: string | null;
  plan: string;
  count: number;
}

/** Started, ended and renewed in the range and the period before it, then active at this moment. */
const COUNT_SUBSCRIPTIONS = prepared(
  'count_subscription_changes',
  `SELECT activated_at >= :since AS is_current, 'started' AS metric, ${writeStart('activated_at')} AS time,
          plan_slug AS plan, cast(count(*) AS int) AS count
     FROM subscriptions WHERE activated_at >= :previousSince AND activated_at < :until GROUP BY 1, 3, 4
    UNION ALL
   SELECT ended_at >= :since, CASE WHEN ended_at >= paid_until - interval '1 day' THEN 'lapsed' ELSE 'ended early' END,
          ${writeStart('ended_at')}, plan_slug, cast(count(*) AS int)
     FROM subscriptions
    WHERE ended_at >= :previousSince AND ended_at < :until AND activated_at IS NOT NULL AND status = 'canceled'
    GROUP BY 1, 2, 3, 4
    UNION ALL
   SELECT due_at >= :since, 'renewed', ${writeStart('due_at')}, plan_slug, cast(count(*) AS int)
     FROM subscription_renewals WHERE due_at >= :previousSince AND due_at < :until GROUP BY 1, 3, 4
    UNION ALL
   SELECT true, 'active', NULL, plan_slug, cast(count(*) AS int) FROM subscriptions
    WHERE status IN ('active', 'past_due') GROUP BY 4
    UNION ALL
   SELECT true, 'ending', NULL, plan_slug, cast(count(*) AS int) FROM subscriptions
    WHERE status IN ('active', 'past_due') AND cancel_at_period_end GROUP BY 4`,
);

/** Subscriptions that started, were renewed and ended. */
export const churnReport: ReportDefinition = {
  slug: 'churn',
  title: 'Subscriptions and churn',
  summary: 'Subscriptions started, renewed and ended, by plan.',
  definition: [
    'Started: subscriptions whose first month was granted in the range, as in the staff metrics. Simulated plans count.',
    'Renewed: subscriptions whose paid year ended in the range and was followed by another one, on the plan that they have then.',
    'Lapsed: ended in the range at the end of their paid year or later. Ended early: before that, such as after a refund or a dispute.',
    'Churn: lapsed divided by renewed and lapsed, which are the subscriptions that were due. Each counts on the plan that it had last.',
  ],
  defaultRange: 'last 30 days',
  build: buildChurnTables,
};

/** The measure that counts subscriptions with one of the metrics. */
function measureCount(
  key: string,
  label: string,
  metrics: readonly SubscriptionCount['metric'][],
): ComputedMeasure<SubscriptionCount> {
  return { key, label, unit: 'count', compute: (rows) => countMetrics(rows, metrics) };
}

const MEASURES: readonly ComputedMeasure<SubscriptionCount>[] = [
  measureCount('started', 'Started', ['started']),
  measureCount('renewed', 'Renewed', ['renewed']),
  measureCount('lapsed', 'Lapsed', ['lapsed']),
  measureCount('ended_early', 'Ended early', ['ended early']),
  measureCount('ended', 'Ended', ['lapsed', 'ended early']),
  {
    key: 'churn_percent',
    label: 'Churn',
    unit: 'percent',
    compute: (rows) => percent(countMetrics(rows, ['lapsed']), countMetrics(rows, ['renewed', 'lapsed'])),
  },
  { ...measureCount('active_now', 'Active now', ['active']), isCompared: false },
  { ...measureCount('ending_now', 'Will not renew', ['ending']), isCompared: false },
];

async function buildChurnTables(range: ReportRange): Promise<ReportTable[]> {
  const { since, previousSince, until } = range;
  const bindings = { since, previousSince, until, step: chooseStep(range) };
  const counts = await runStatement<SubscriptionCount>(COUNT_SUBSCRIPTIONS, bindings);
  const { plans } = getCatalog();
  const chartPlans = (title: string, metrics: readonly SubscriptionCount['metric'][]) =>
    chartCounts(
      title,
      range,
      plans.map(({ slug, name }) => ({
        name,
        rows: counts.filter((row) => row.is_current && row.plan === slug && metrics.includes(row.metric)),
      })),
    );
  return [
    {
      key: 'plans',
      title: 'By plan',
      note: 'Active subscriptions, and those that will not renew, are counted at this moment.',
      dimensions: [{ key: 'plan', label: 'Plan' }],
      measures: MEASURES,
      charts: [
        chartPlans('Subscriptions started', ['started']),
        chartPlans('Subscriptions ended', ['lapsed', 'ended early']),
      ],
      rows: plans.map(({ slug, name }) => ({
        labels: [name],
        amounts: compareRows(
          counts.filter(({ plan }) => plan === slug),
          MEASURES,
        ),
      })),
      total: { labels: ['Total'], amounts: compareRows(counts, MEASURES) },
    },
  ];
}

function countMetrics(rows: readonly SubscriptionCount[], metrics: readonly SubscriptionCount['metric'][]): number {
  return sumBy(
    rows.filter(({ metric }) => metrics.includes(metric)),
    'count',
  );
}
