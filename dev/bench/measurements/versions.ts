import { alternateRounds, median, medianRatio, type Rounds } from '../../local/statistics.ts';
import type { BenchChild } from '../childProcess.ts';
import { type DatabaseUsage, readDatabaseUsage } from '../databaseUsage.ts';
import { BASE_URL, COMPARED, type ComparedRequest } from '../comparedRequests.ts';
import type { BenchApi, BenchEnvironment } from '../environment.ts';
import type { LoopResult } from '../load/closedLoop.ts';
import { type FigureName, VERSION_FIGURES } from '../options.ts';
import { emptyRedis, findSaturation, type Pipeline, runPipelineRound, startPipeline } from '../pipelineRounds.ts';
import { withProcessorTime } from '../processUsage.ts';
import type { Measurement } from '../report.ts';
import { loadSeed } from '../versions.ts';

/** One round of one version: its throughput, and what an item cost. */
interface VersionRound {
  perSecond: number;
  microseconds: Record<string, number>;
  walBytes: number;
}

/**
 * Compares this version with another one: an API and a worker of each, with a database that it has migrated itself, take
 * the same load in turn. The ratios are new : old.
 */
export async function compareVersions(
  environment: BenchEnvironment,
  checkout: string,
  figures: readonly FigureName[],
): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const figure of VERSION_FIGURES.filter((name) => figures.includes(name))) {
    environment.log(`comparing ${figure}`);
    if (figure === 'pipeline') measurements.push(...(await comparePipelines(environment, checkout)));
    else
      for (const compared of COMPARED[figure])
        measurements.push(...(await compareRequests(environment, checkout, compared)));
  }
  return measurements;
}

/** Both pipelines have as many generations in flight. The child that makes thumbnails is reported apart. */
async function comparePipelines(environment: BenchEnvironment, checkout: string): Promise<Measurement[]> {
  const [present, other] = [
    await startPipeline(environment, 'bench_pipeline_new'),
    await startPipeline(environment, 'bench_pipeline_old', checkout),
  ];
  const inFlight = await findSaturation(present);
  environment.log(`${inFlight} generations in flight`);
  const run = (pipeline: Pipeline) => async () => {
    const round = await runPipelineRound(pipeline, inFlight);
    const worker = Math.round(round.microseconds['worker µs'] ?? Number.NaN);
    environment.log(`${pipeline.label}: ${Math.round(round.perSecond)} per second, worker ${worker} µs`);
    return round;
  };
  // Warms up the other version as well.
  await run(other)();
  const rounds = await alternateRounds(environment.options.rounds, run(present), run(other));
  const usage = [await readDatabaseUsage(present.client), await readDatabaseUsage(other.client)] as const;
  await present.end();
  await other.end();
  await emptyRedis(environment);
  return [
    ...summarizeRounds('pipeline', rounds, { 'in flight': inFlight }),
    compareHotUpdates('pipeline: share of HOT updates of generations, new : old', ...usage),
  ];
}

function getHotShare({ updates, hotUpdates }: DatabaseUsage): number {
  return hotUpdates / updates;
}

function compareHotUpdates(title: string, present: DatabaseUsage, other: DatabaseUsage): Measurement {
  const toPercent = (usage: DatabaseUsage) => `${(100 * getHotShare(usage)).toFixed(1)} %`;
  return {
    title,
    value: getHotShare(present) / getHotShare(other),
    parts: { new: toPercent(present), old: toPercent(other) },
  };
}

interface VersionApi {
  label: string;
  api: BenchApi;
  client: Pipeline['client'];
  expected: number;
  verifySums: Awaited<ReturnType<typeof loadSeed>>['verifySums'];
}

async function startApi(
  environment: BenchEnvironment,
  http: BenchChild,
  { name, expect, rowsPerAccount: rows, build }: ComparedRequest,
  checkout?: string,
): Promise<VersionApi> {
  const { accounts } = environment.options;
  const label = checkout === undefined ? 'new' : 'old';
  const { url, client } = await environment.database(
    `bench_${name.toLowerCase().replaceAll(/\W+/g, '_')}_${label}`,
    checkout,
  );
  const { seedDatabase, verifySums } = await loadSeed(checkout);
  await seedDatabase(client, { accounts, hotRows: rows, rowsPerAccount: rows });
  const api = await environment.api(url, { BASE_URL }, checkout);
  const requests = await build({ environment, url, client, api });
  await http.call('prepare', { name: label, port: api.port, expect, requests });
  return { label, api, client, expected: accounts * rows, verifySums };
}

async function compareRequests(
  environment: BenchEnvironment,
  checkout: string,
  compared: ComparedRequest,
): Promise<Measurement[]> {
  const { rounds, roundMs } = environment.options;
  const { name, clients } = compared;
  const http = await environment.child('./load/httpLoad.ts', environment.postgres.url);
  const present = await startApi(environment, http, compared);
  const other = await startApi(environment, http, compared, checkout);

  const run = (version: VersionApi) => async (): Promise<VersionRound> => {
    const { api, client, label } = version;
    const before = await readDatabaseUsage(client);
    const { result, microseconds } = await withProcessorTime(
      { api: api.pid, postgres: environment.postgres.pid, redis: environment.redis.pid, client: http.pid },
      () => http.call<LoopResult>('run', label, clients, roundMs),
      ({ done }) => done,
    );
    const after = await readDatabaseUsage(client);
    if (compared.expect === 201) version.expected += result.done;
    return { perSecond: result.perSecond, microseconds, walBytes: (after.walBytes - before.walBytes) / result.done };
  };
  // The first round of each runs cold code.
  await run(present)();
  await run(other)();
  const measured = await alternateRounds(rounds, run(present), run(other));
  for (const { client, expected, verifySums } of [present, other]) await verifySums(client, expected);
  await Promise.all([present.api.end(), other.api.end(), http.end()]);
  await emptyRedis(environment);
  const measurements = summarizeRounds(name, measured, { clients });
  environment.log(`${name}: ${measurements[0]?.value?.toFixed(2)}`);
  return measurements;
}

/** Titles of the processes whose processor time is a figure of its own; the others are for information. */
const PROCESS_TITLES: Record<string, string> = {
  worker: 'CPU of the worker, its child apart',
  thumbnails: 'CPU of the child that makes thumbnails',
  api: 'CPU of the API',
  postgres: 'CPU of Postgres',
  redis: 'CPU of Redis',
};

/** Builds the rows of a comparison. Processor times and WAL are per item, so that less is better. */
function summarizeRounds(
  figure: string,
  { a, b }: Rounds<VersionRound, VersionRound>,
  parts: Measurement['parts'],
): Measurement[] {
  const compare = (title: string, unit: string, read: (round: VersionRound) => number): Measurement => {
    const values = { a: a.map(read), b: b.map(read) };
    const ratios = values.a.map((value, round) => value / (values.b[round] as number));
    return {
      title: `${figure}: ${title}, new : old`,
      value: medianRatio(values),
      parts: {
        [`new ${unit}`]: median(values.a),
        [`old ${unit}`]: median(values.b),
        rounds: ratios.map((ratio) => ratio.toFixed(2)).join(' '),
      },
    };
  };
  const names = Object.keys(PROCESS_TITLES).filter((name) => Number.isFinite(a[0]?.microseconds[`${name} µs`]));
  const throughput = compare('per second', 'per s', (round) => round.perSecond);
  return [
    { ...throughput, parts: { ...throughput.parts, ...parts } },
    ...names.map((name) =>
      compare(PROCESS_TITLES[name] as string, 'µs', ({ microseconds }) => microseconds[`${name} µs`] as number),
    ),
    compare('WAL', 'bytes', ({ walBytes }) => walBytes),
  ];
}
