import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import {
  buildTable,
  type PeriodRow,
  percent,
  type ReportDefinition,
  type ReportRange,
  type ReportRow,
  type ReportTable,
  selectPeriod,
  sumBy,
  measureSum,
} from './report.ts';
import {
  describeUpstreamAndModel,
  OUTCOME_MEASURES,
  readGenerationSums,
  UPSTREAM_DIMENSIONS,
  UPSTREAM_NAME,
} from './sums.ts';

interface FailureSum extends PeriodRow {
  model: string;
  upstream: string;
  reason: string;
  failed: number;
  refunded_credits: number;
  last_failed_at: Date;
  example_uuid: string;
}

const READ_FAILURES = prepared(
  'read_failure_sums',
  `SELECT hour >= :since AS is_current, model, ${UPSTREAM_NAME} AS upstream, reason, cast(sum(failed) AS float8) AS failed,
          cast(sum(refunded_credits) AS float8) AS refunded_credits, max(last_failed_at) AS last_failed_at,
          (array_agg(example_uuid ORDER BY last_failed_at DESC))[1] AS example_uuid
     FROM generation_hours WHERE hour >= :previousSince AND hour < :until AND failed > 0 GROUP BY 1, 2, 3, 4`,
);

/** Failed generations, grouped by what failed and where. */
export const failureReport: ReportDefinition = {
  slug: 'failures',
  title: 'Failed generations',
  summary: 'Why generations failed, at which upstream, and what was refunded.',
  definition: [
    'Counts generations that were created in the range and have failed. All of them were refunded.',
    'Generations that their owners canceled are not failures. They are counted apart, and not in the failure rate.',
    'Share of all generations: failures divided by all generations created in the range, at any upstream.',
    "A message of the upstream's own may quote the prompt, so it is not shown: open the example generation.",
    'Without dates, the range is the current hour and the 23 hours before it. Sums are updated once a minute.',
  ],
  defaultRange: 'last 24 hours',
  build: buildFailureTables,
};

async function buildFailureTables(range: ReportRange): Promise<ReportTable[]> {
  const { since, previousSince, until } = range;
  const [sums, failures] = await Promise.all([
    readGenerationSums(range),
    runStatement<FailureSum>(READ_FAILURES, { since, previousSince, until }),
  ]);
  const latest = findLatest(failures);
  const reasons = buildTable({
    key: 'reasons',
    title: 'By reason and upstream',
    note: 'Failures by the message that the customer received.',
    dimensions: [...UPSTREAM_DIMENSIONS, { key: 'reason', label: 'Reason' }],
    measures: [
      measureSum('failed', 'Failed'),
      {
        key: 'share_percent',
        label: 'Share of all generations',
        unit: 'percent',
        compute: (rows, isCurrent) =>
          percent(sumBy(rows, 'failed'), sumBy(selectPeriod(sums, isCurrent), 'generations')),
      },
      measureSum('refunded_credits', 'Credits refunded'),
    ],
    details: [
      { key: 'last_failed_at', label: 'Last failure (UTC)' },
      { key: 'example_generation', label: 'Example', isGeneration: true },
    ],
    rows: failures,
    getLabels: toFailureLabels,
  });
  const upstreams = buildTable({
    key: 'upstreams',
    title: 'By upstream',
    note: 'All generations created in the range. Failure rate: failed divided by all that have succeeded or failed.',
    dimensions: UPSTREAM_DIMENSIONS,
    measures: [...OUTCOME_MEASURES, measureSum('refunded_credits', 'Credits refunded')],
    rows: sums,
    getLabels: describeUpstreamAndModel,
  });
  const addExample = (row: ReportRow): ReportRow => {
    const example = latest.get(row.labels.join('\n'));
    return { ...row, details: [example?.last_failed_at.toISOString() ?? '', example?.example_uuid ?? ''] };
  };
  return [{ ...reasons, rows: reasons.rows.map(addExample) }, upstreams];
}

const toFailureLabels = (row: FailureSum) => [...describeUpstreamAndModel(row), row.reason];

/** Finds the latest failure of each group in the range. */
function findLatest(failures: FailureSum[]): Map<string, FailureSum> {
  const latest = new Map<string, FailureSum>();
  for (const row of selectPeriod(failures, true)) {
    const key = toFailureLabels(row).join('\n');
    if ((latest.get(key)?.last_failed_at ?? new Date(0)) < row.last_failed_at) latest.set(key, row);
  }
  return latest;
}
