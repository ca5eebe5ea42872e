import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { UpstreamHealth } from '../../tables/UpstreamHealth.ts';
import { describeUpstream, getModelName } from './labels.ts';
import { chooseStep, formatStart, listStarts, type Step, writeStart } from './range.ts';
import {
  groupRows,
  type Measure,
  type PeriodRow,
  percent,
  type ReportChart,
  type ReportDefinition,
  type ReportRange,
  type ReportTable,
  sumBy,
  totalRow,
  uncompared,
} from './report.ts';
import { UPSTREAM_NAME } from './sums.ts';

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

const MEASURES: readonly Measure[] = [
  { key: 'generations', label: 'Generations', unit: 'count' },
  { key: 'failed', label: 'Failed', unit: 'count' },
  { key: 'failure_rate_percent', label: 'Failure rate', unit: 'percent' },
  { key: 'canceled', label: 'Canceled', unit: 'count' },
  { key: 'latency_mean_seconds', label: 'Mean latency', unit: 'seconds' },
  { key: 'latency_max_seconds', label: 'Longest', unit: 'seconds' },
  { key: 'probes', label: 'Probes', unit: 'count' },
  { key: 'failed_probes', label: 'Failed probes', unit: 'count' },
  { key: 'failed_submissions', label: 'Failed submissions', unit: 'count' },
  { key: 'circuit_openings', label: 'Circuits opened', unit: 'count' },
];

const UPSTREAM_DIMENSIONS = [
  { key: 'upstream', label: 'Upstream' },
  { key: 'model', label: 'Model' },
];

async function buildUpstreamTables(range: ReportRange): Promise<ReportTable[]> {
  const { since, previousSince, until } = range;
  const step = chooseStep(range);
  const bindings = { since, previousSince, until, step };
  const [sums, health] = await Promise.all([
    runStatement<UpstreamSum>(READ_UPSTREAM_SUMS, bindings),
    UpstreamHealth.query().orderBy(['model', 'position']),
  ]);
  const current = sums.filter(({ is_current: isCurrent }) => isCurrent);
  const series = groupRows(current, (row) => [formatStart(row.time, step), ...toLabels(row)], computeHealth);
  return [
    {
      key: 'upstreams',
      title: 'By upstream',
      note: 'The whole range.',
      dimensions: UPSTREAM_DIMENSIONS,
      measures: MEASURES,
      rows: groupRows(sums, toLabels, computeHealth),
      total: totalRow(sums, 2, computeHealth),
    },
    {
      key: 'time',
      title: `By ${step}`,
      note: `Each ${step} in UTC, the latest first.`,
      dimensions: [{ key: 'time', label: `Start of the ${step}` }, ...UPSTREAM_DIMENSIONS],
      measures: MEASURES.map((measure) => ({ ...measure, isCompared: false as const })),
      charts: [chartFailures(current, range, step)],
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
        amounts: uncompared(row.consecutive_failures, secondsSince(row.probed_at)),
        details: [row.circuit_open_until === null ? '' : row.circuit_open_until.toISOString()],
      })),
    },
  ];
}

/** Upstreams that have a color each; the others share one. */
const UPSTREAMS_CHARTED = 3;

/** Draws the failed generations of each upstream, those with the most failures first. */
function chartFailures(sums: UpstreamSum[], range: ReportRange, step: Step): ReportChart {
  const failures = (name: string) =>
    sumBy(
      sums.filter(({ upstream }) => upstream === name),
      ({ failed }) => failed,
    );
  const names = [...new Set(sums.map(({ upstream }) => upstream))]
    .filter((name) => failures(name) > 0)
    .toSorted((a, b) => failures(b) - failures(a));
  const [charted, others] = [names.slice(0, UPSTREAMS_CHARTED), names.slice(UPSTREAMS_CHARTED)];
  const starts = listStarts(range, step);
  const toSeries = (name: string, members: string[]) => ({
    name,
    values: starts.map((start) =>
      sumBy(
        sums.filter(({ time, upstream }) => time === start && members.includes(upstream)),
        ({ failed }) => failed,
      ),
    ),
  });
  return {
    title: `Failed generations by ${step}`,
    unit: 'count',
    labels: starts.map((start) => formatStart(start, step)),
    series: [
      ...charted.map((name) => toSeries(describeUpstream(name), [name])),
      ...(others.length === 0 ? [] : [toSeries('Other upstreams', others)]),
    ],
  };
}

const toLabels = ({ upstream, model }: UpstreamSum) => [describeUpstream(upstream), getModelName(model)];

function computeHealth(rows: UpstreamSum[]): (number | null)[] {
  const failed = sumBy(rows, (row) => row.failed);
  const timed = sumBy(rows, (row) => row.timed);
  const latencyMs = sumBy(rows, (row) => row.latency_ms_sum);
  const longestMs = Math.max(0, ...rows.map((row) => row.latency_ms_max));
  return [
    sumBy(rows, (row) => row.generations),
    failed,
    percent(failed, failed + sumBy(rows, (row) => row.succeeded)),
    sumBy(rows, (row) => row.canceled),
    timed === 0 ? null : roundSeconds(latencyMs / timed),
    timed === 0 ? null : roundSeconds(longestMs),
    sumBy(rows, (row) => row.probes),
    sumBy(rows, (row) => row.failed_probes),
    sumBy(rows, (row) => row.failed_submissions),
    sumBy(rows, (row) => row.circuit_openings),
  ];
}

function roundSeconds(milliseconds: number): number {
  return Math.round(milliseconds / 100) / 10;
}

function secondsSince(moment: Date): number {
  return Math.max(0, Math.round((now().getTime() - moment.getTime()) / 1_000));
}
