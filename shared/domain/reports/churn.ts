import { getCatalog } from '../../lib/catalog/catalog.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { chooseStep, formatStart, listStarts, writeStart } from './range.ts';
import {
  compareRows,
  type Measure,
  type PeriodRow,
  percent,
  type ReportChart,
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

const MEASURES: readonly Measure[] = [
  { key: 'started', label: 'Started', unit: 'count' },
  { key: 'renewed', label: 'Renewed', unit: 'count' },
  { key: 'lapsed', label: 'Lapsed', unit: 'count' },
  { key: 'ended_early', label: 'Ended early', unit: 'count' },
  { key: 'ended', label: 'Ended', unit: 'count' },
  { key: 'churn_percent', label: 'Churn', unit: 'percent' },
  { key: 'active_now', label: 'Active now', unit: 'count', isCompared: false },
  { key: 'ending_now', label: 'Will not renew', unit: 'count', isCompared: false },
];

async function buildChurnTables(range: ReportRange): Promise<ReportTable[]> {
  const { since, previousSince, until } = range;
  const step = chooseStep(range);
  const counts = await runStatement<SubscriptionCount>(COUNT_SUBSCRIPTIONS, { since, previousSince, until, step });
  const rows = getCatalog().plans.map(({ slug, name }) => ({
    labels: [name],
    amounts: compareRows(
      counts.filter(({ plan }) => plan === slug),
      computeChurn,
    ),
  }));
  const starts = listStarts(range, step);
  const chartPlans = (title: string, metrics: SubscriptionCount['metric'][]): ReportChart => ({
    title,
    unit: 'count',
    labels: starts.map((start) => formatStart(start, step)),
    series: getCatalog().plans.map(({ slug, name }) => ({
      name,
      values: starts.map((start) =>
        sumBy(
          counts.filter(
            (row) => row.is_current && row.plan === slug && row.time === start && metrics.includes(row.metric),
          ),
          ({ count }) => count,
        ),
      ),
    })),
  });
  return [
    {
      key: 'plans',
      title: 'By plan',
      note: 'Active subscriptions, and those that will not renew, are counted at this moment.',
      dimensions: [{ key: 'plan', label: 'Plan' }],
      measures: MEASURES,
      charts: [
        chartPlans(`Subscriptions started by ${step}`, ['started']),
        chartPlans(`Subscriptions ended by ${step}`, ['lapsed', 'ended early']),
      ],
      rows,
      total: { labels: ['Total'], amounts: compareRows(counts, computeChurn) },
    },
  ];
}

function computeChurn(rows: SubscriptionCount[]): (number | null)[] {
  const count = (counted: SubscriptionCount['metric']) =>
    sumBy(
      rows.filter(({ metric }) => metric === counted),
      (row) => row.count,
    );
  const [renewed, lapsed, endedEarly] = [count('renewed'), count('lapsed'), count('ended early')];
  return [
    count('started'),
    renewed,
    lapsed,
    endedEarly,
    lapsed + endedEarly,
    percent(lapsed, renewed + lapsed),
    count('active'),
    count('ending'),
  ];
}
