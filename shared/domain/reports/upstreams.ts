import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { UpstreamHealth } from '../../tables/UpstreamHealth.ts';
import { describeUpstream, getModelName } from './labels.ts';
import { chartCounts, chooseStep, formatStart, writeStart } from './range.ts';
import {
  ageSeconds,
  buildTable,
  type ComputedMeasure,
  groupRows,
  type PeriodRow,
  type ReportChart,
  type ReportDefinition,
  type ReportRange,
  type ReportTable,
  selectPeriod,
  sumBy,
  measureSum,
  uncompared,
} from './report.ts';
import { describeUpstreamAndModel, OUTCOME_MEASURES, UPSTREAM_DIMENSIONS, UPSTREAM_NAME } from './sums.ts';

/** Sums of generations and of health checks, in one row type, so that both are grouped together. */
interface UpstreamSum extends PeriodRow {
  /** Start of the hour, day or week as text. */
  time: string;
  model: string;
  upstream: string;
  generations: number;
  succeeded: number;
  failed: number;
  canceled: number;
  timed: number;
  latency_ms_sum: number;
  latency_ms_max: number;
  probes: number;
  failed_probes: number;
  failed_submissions: number;
  circuit_openings: number;
}

/** Both tables have their hour first in the primary key. */
const READ_UPSTREAM_SUMS = prepared(
  'read_upstream_sums',
  `SELECT hour >= :since AS is_current,
          ${writeStart('hour')} AS time, model, upstream,
          cast(sum(generations) AS float8) AS generations, cast(sum(succeeded) AS float8) AS succeeded,
          cast(sum(failed) AS float8) AS failed, cast(sum(canceled) AS float8) AS canceled,
          cast(sum(timed) AS float8) AS timed,
          cast(sum(latency_ms_sum) AS float8) AS latency_ms_sum, cast(max(latency_ms_max) AS float8) AS latency_ms_max,
          cast(sum(probes) AS float8) AS probes, cast(sum(failed_probes) AS float8) AS failed_probes,
          cast(sum(failed_submissions) AS float8) AS failed_submissions,
          cast(sum(circuit_openings) AS float8) AS circuit_openings
     FROM (SELECT hour, model, ${UPSTREAM_NAME} AS upstream, generations, succeeded, failed, canceled, timed, latency_ms_sum,
                  latency_ms_max, 0 AS probes, 0 AS failed_probes, 0 AS failed_submissions, 0 AS circuit_openings
             FROM generation_hours WHERE hour >= :previousSince AND hour < :until
            UNION ALL
           SELECT hour, model, upstream, 0, 0, 0, 0, 0, 0, 0, probes, failed_probes, failed_submissions, circuit_openings
             FROM upstream_hours WHERE hour >= :previousSince AND hour < :until) sums
    GROUP BY 1, 2, 3, 4`,
);

/** Reliability of the upstreams over time. */
export const upstreamReport: ReportDefinition = {
  slug: 'upstreams',
  title: 'Upstream health',
  summary: 'Failure rate, latency, health checks and open circuits of each upstream, over time.',
  definition: [
    'Generations count in the hour in which they were created, at the upstream that they were submitted to last.',
    'Failure rate: failed divided by all that have succeeded or failed; those that their owners canceled are counted apart. Latency: from the accepted submission to the end, of generations that succeeded, with the download of the output.',
    'Probes are health checks, some per minute. Failed submissions did not reach the upstream. A circuit opens when the upstream rejects our account.',
    'Sums are updated once a minute.',
  ],
  defaultRange: 'last 30 days',
  build: buildUpstreamTables,
};

const MEASURES: readonly ComputedMeasure<UpstreamSum>[] = [
  ...OUTCOME_MEASURES,
  {
    key: 'latency_mean_seconds',
    label: 'Mean latency',
    unit: 'seconds',
    compute: (rows) => {
      const timed = sumBy(rows, 'timed');
      return timed === 0 ? null : roundSeconds(sumBy(rows, 'latency_ms_sum') / timed);
    },
  },
  {
    key: 'latency_max_seconds',
    label: 'Longest',
    unit: 'seconds',
    compute: (rows) =>
      rows.some((row) => row.timed > 0) ? roundSeconds(Math.max(...rows.map((row) => row.latency_ms_max))) : null,
  },
  measureSum('probes', 'Probes'),
  measureSum('failed_probes', 'Failed probes'),
  measureSum('failed_submissions', 'Failed submissions'),
  measureSum('circuit_openings', 'Circuits opened'),
];

async function buildUpstreamTables(range: ReportRange): Promise<ReportTable[]> {
  const { since, previousSince, until } = range;
  const step = chooseStep(range);
  const bindings = { since, previousSince, until, step };
  const [sums, health] = await Promise.all([
    runStatement<UpstreamSum>(READ_UPSTREAM_SUMS, bindings),
    UpstreamHealth.query().orderBy(['model', 'position']),
  ]);
  const current = selectPeriod(sums, true);
  const series = groupRows(current, (row) => [formatStart(row.time, step), ...describeUpstreamAndModel(row)], MEASURES);
  return [
    buildTable({
      key: 'upstreams',
      title: 'By upstream',
      note: 'The whole range.',
      dimensions: UPSTREAM_DIMENSIONS,
      measures: MEASURES,
      rows: sums,
      getLabels: describeUpstreamAndModel,
    }),
    {
      key: 'time',
      title: `By ${step}`,
      note: `Each ${step} in UTC, the latest first.`,
      dimensions: [{ key: 'time', label: `Start of the ${step}` }, ...UPSTREAM_DIMENSIONS],
      measures: MEASURES.map((measure) => ({ ...measure, isCompared: false as const })),
      charts: [chartFailures(current, range)],
      rows: series.toSorted((a, b) => b.labels.join().localeCompare(a.labels.join())),
    },
    {
      key: 'state',
      title: 'Current state',
      note: 'The last health check of each choice of a model. It does not depend on the range.',
      dimensions: [...UPSTREAM_DIMENSIONS, { key: 'status', label: 'Status' }],
      measures: [
        { key: 'consecutive_failures', label: 'Failures in a row', unit: 'count', isCompared: false },
        { key: 'seconds_since_probe', label: 'Last check', unit: 'seconds', isCompared: false },
      ],
      details: [{ key: 'circuit_open_until', label: 'Circuit open until (UTC)' }],
      rows: health.map((row) => ({
        labels: [row.upstream, getModelName(row.model), row.status],
        amounts: uncompared(row.consecutive_failures, ageSeconds(row.probed_at)),
        details: [row.circuit_open_until === null ? '' : row.circuit_open_until.toISOString()],
      })),
    },
  ];
}

/** Upstreams that have a color each; the others share one. */
const UPSTREAMS_CHARTED = 3;

/** Draws the failed generations of each upstream, those with the most failures first. */
function chartFailures(sums: UpstreamSum[], range: ReportRange): ReportChart {
  const series = [...new Set(sums.map(({ upstream }) => upstream))]
    .map((upstream) => {
      const rows = sums.flatMap((row) => (row.upstream === upstream ? [{ time: row.time, count: row.failed }] : []));
      return { name: describeUpstream(upstream), rows, failed: sumBy(rows, 'count') };
    })
    .filter(({ failed }) => failed > 0)
    .toSorted((a, b) => b.failed - a.failed);
  const others = series.slice(UPSTREAMS_CHARTED);
  return chartCounts('Failed generations', range, [
    ...series.slice(0, UPSTREAMS_CHARTED),
    ...(others.length === 0 ? [] : [{ name: 'Other upstreams', rows: others.flatMap((other) => other.rows) }]),
  ]);
}

function roundSeconds(milliseconds: number): number {
  return Math.round(milliseconds / 100) / 10;
}
