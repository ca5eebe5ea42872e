import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { describeUpstream, getModelName } from './labels.ts';
import {
  type Amount,
  compareRows,
  groupRows,
  type PeriodRow,
  percent,
  type ReportDefinition,
  type ReportRange,
  type ReportRow,
  type ReportTable,
  sumBy,
  totalRow,
} from './report.ts';
import { readGenerationSums, UPSTREAM_NAME } from './sums.ts';

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
  const [all] = compareRows(sums, (rows) => [sumBy(rows, ({ generations }) => generations)]);
  // The share needs the number of all generations, which these rows do not have: it is added below.
  const compute = (rows: FailureSum[]) => [
    sumBy(rows, (row) => row.failed),
    null,
    sumBy(rows, (row) => row.refunded_credits),
  ];
  const addShare = (row: ReportRow): ReportRow => {
    const [failed, , credits] = row.amounts as [Amount, Amount, Amount];
    const share = {
      value: percent(failed.value ?? 0, all?.value ?? 0),
      previous: percent(failed.previous ?? 0, all?.previous ?? 0),
    };
    return { ...row, amounts: [failed, share, credits] };
  };
  const latest = findLatest(failures);
  const byReason = groupRows(failures, toFailureLabels, compute).map((row) => {
    const example = latest.get(row.labels.join('\n'));
    const details = [example?.last_failed_at.toISOString() ?? '', example?.example_uuid ?? ''];
    return { ...addShare(row), details };
  });
  return [
    {
      key: 'reasons',
      title: 'By reason and upstream',
      note: 'Failures by the message that the customer received.',
      dimensions: [
        { key: 'upstream', label: 'Upstream' },
        { key: 'model', label: 'Model' },
        { key: 'reason', label: 'Reason' },
      ],
      measures: [
        { key: 'failed', label: 'Failed', unit: 'count' },
        { key: 'share_percent', label: 'Share of all generations', unit: 'percent' },
        { key: 'refunded_credits', label: 'Credits refunded', unit: 'count' },
      ],
      details: [
        { key: 'last_failed_at', label: 'Last failure (UTC)' },
        { key: 'example_generation', label: 'Example', isGeneration: true },
      ],
      rows: byReason,
      total: { ...addShare(totalRow(failures, 3, compute)), details: ['', ''] },
    },
    {
      key: 'upstreams',
      title: 'By upstream',
      note: 'All generations created in the range. Failure rate: failed divided by all that have succeeded or failed.',
      dimensions: [
        { key: 'upstream', label: 'Upstream' },
        { key: 'model', label: 'Model' },
      ],
      measures: [
        { key: 'generations', label: 'Generations', unit: 'count' },
        { key: 'failed', label: 'Failed', unit: 'count' },
        { key: 'failure_rate_percent', label: 'Failure rate', unit: 'percent' },
        { key: 'canceled', label: 'Canceled', unit: 'count' },
        { key: 'refunded_credits', label: 'Credits refunded', unit: 'count' },
      ],
      rows: groupRows(sums, toUpstreamLabels, computeFailureRates),
      total: totalRow(sums, 2, computeFailureRates),
    },
  ];
}

function computeFailureRates(
  rows: { generations: number; succeeded: number; failed: number; canceled: number; refunded_credits: number }[],
): (number | null)[] {
  const failed = sumBy(rows, (row) => row.failed);
  const ended = failed + sumBy(rows, (row) => row.succeeded);
  return [
    sumBy(rows, (row) => row.generations),
    failed,
    percent(failed, ended),
    sumBy(rows, (row) => row.canceled),
    sumBy(rows, (row) => row.refunded_credits),
  ];
}

const toUpstreamLabels = ({ upstream, model }: { upstream: string; model: string }) => [
  describeUpstream(upstream),
  getModelName(model),
];

const toFailureLabels = (row: FailureSum) => [...toUpstreamLabels(row), row.reason];

/** Finds the latest failure of each group in the range. */
function findLatest(failures: FailureSum[]): Map<string, FailureSum> {
  const latest = new Map<string, FailureSum>();
  for (const row of failures.filter(({ is_current: isCurrent }) => isCurrent)) {
    const key = toFailureLabels(row).join('\n');
    if ((latest.get(key)?.last_failed_at ?? new Date(0)) < row.last_failed_at) latest.set(key, row);
  }
  return latest;
}
