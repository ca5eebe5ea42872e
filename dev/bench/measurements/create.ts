import type { BenchChild } from '../childProcess.ts';
import type { LoopResult } from '../load/closedLoop.ts';
import type { PreparedRequests } from '../load/httpLoad.ts';
import type { FigureName } from '../options.ts';
import type { Measurement } from '../report.ts';
import { buildCreateRequest, listSpreadAccounts } from '../httpRequests.ts';
import { HOT_ACCOUNT, seedDatabase } from '../seed.ts';
import type { BenchApi, BenchEnvironment } from '../environment.ts';
import { alternateRounds, median, medianRatio, type Rounds } from '../../local/statistics.ts';
import { medianMicroseconds, type MemoryUsage, readMemoryUsage, withProcessorTime } from '../processUsage.ts';
import { verifyDispatches, verifySums } from '../verify.ts';

/** Processes that measure creates: the API and, beside it, the bare statement and a bare web server. */
interface CreateFixture {
  environment: BenchEnvironment;
  api: BenchApi;
  http: BenchChild;
  statement: BenchChild;
  bareKoa: BenchChild;
  spread: number[];
  /** Accepted creates, in total and through the API. */
  created: { total: number; byApi: number };
}

/**
 * Measures creates over HTTP, with their dispatch enqueued and no worker, against the same statement run bare. All of
 * them are summed up at the end and looked up in the queue.
 */
export async function measureCreates(environment: BenchEnvironment): Promise<Measurement[]> {
  const { url, client } = await environment.database('bench_create');
  await seedDatabase(client, { accounts: environment.options.accounts + 1, hotRows: 0, rowsPerAccount: 0 });
  const api = await environment.api(url);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const idle = readMemoryUsage(api.pid);
  const fixture: CreateFixture = {
    environment,
    api,
    http: await environment.child('./load/httpLoad.ts', url),
    statement: await environment.child('./load/statementLoad.ts', url),
    bareKoa: await environment.child('./baselines/bareKoa.ts', url),
    spread: listSpreadAccounts(environment.options.accounts + 1),
    // The two creates that captured the statement.
    created: { total: 2, byApi: 0 },
  };
  await prepareRequests(fixture);
  const parts: [FigureName, (fixture: CreateFixture) => Promise<Measurement[]>][] = [
    ['create', measureSpreadCreates],
    ['latency', measureLatency],
    ['hot', measureHotCreates],
  ];
  const measurements: Measurement[] = [];
  for (const [name, measure] of parts)
    if (environment.options.only.includes(name)) measurements.push(...(await measure(fixture)));
  measurements.push(buildMemoryMeasurement(idle, readMemoryUsage(api.pid)));
  await verifySums(client, fixture.created.total);
  await verifyDispatches(environment.redis.url, client, fixture.created.byApi);
  await Promise.all([api.end(), fixture.http.end(), fixture.statement.end(), fixture.bareKoa.end()]);
  return measurements;
}

async function prepareRequests({ api, http, bareKoa, spread }: CreateFixture): Promise<void> {
  const barePort = await bareKoa.call<number>('port');
  const prepare = (requests: PreparedRequests) => http.call('prepare', requests);
  const common = { expect: 201, port: api.port };
  await prepare({ ...common, name: 'spread', requests: spread.map((account) => buildCreateRequest(account)) });
  await prepare({ ...common, name: 'hot', requests: [buildCreateRequest(HOT_ACCOUNT)] });
  const bare = spread.map((account) => buildCreateRequest(account, `/charge/${account}`));
  await prepare({ ...common, name: 'bare', port: barePort, requests: bare });
}

async function runHttp(
  { http, created }: CreateFixture,
  name: string,
  clients: number,
  ms: number,
): Promise<LoopResult> {
  const result = await http.call<LoopResult>('run', name, clients, ms);
  created.total += result.done;
  if (name !== 'bare') created.byApi += result.done;
  return result;
}

async function runBareStatement(
  fixture: CreateFixture,
  accounts: number[],
  clients: number,
  ms: number,
): Promise<LoopResult> {
  const result = await fixture.statement.call<LoopResult>('run', clients, ms, accounts);
  fixture.created.total += result.done;
  return result;
}

async function measureSpreadCreates(fixture: CreateFixture): Promise<Measurement[]> {
  const { rounds, roundMs } = fixture.environment.options;
  // The first requests run cold code, with keys that are not in the API's cache.
  await runHttp(fixture, 'spread', 32, roundMs);
  await runBareStatement(fixture, fixture.spread, 32, roundMs);
  const of32 = await alternateRounds(
    rounds,
    () => withTimedProcesses(fixture, 'service', () => runHttp(fixture, 'spread', 32, roundMs)),
    () => withTimedProcesses(fixture, 'bare', () => runBareStatement(fixture, fixture.spread, 32, roundMs)),
  );
  const connections = await findFastestConnectionCount(fixture);
  await runHttp(fixture, 'spread', 128, roundMs);
  const of128 = await alternateRounds(
    rounds,
    () => withTimedProcesses(fixture, 'service', () => runHttp(fixture, 'spread', 128, roundMs)),
    () => withTimedProcesses(fixture, 'bare', () => runBareStatement(fixture, fixture.spread, connections, roundMs)),
  );
  return [
    { target: 'create32', ...summarizeThroughput(of32, 'on 32 connections') },
    { target: 'create128', ...summarizeThroughput(of128, `on ${connections} connections, the fastest of 32 to 128`) },
  ];
}

/**
 * More connections than the database has processors are not necessarily faster: the bare statement uses the best count.
 */
async function findFastestConnectionCount(fixture: CreateFixture): Promise<number> {
  let best = { connections: 32, perSecond: 0 };
  for (const connections of [32, 64, 128]) {
    await runBareStatement(fixture, fixture.spread, connections, 200);
    const { perSecond } = await runBareStatement(
      fixture,
      fixture.spread,
      connections,
      fixture.environment.options.roundMs,
    );
    if (perSecond > best.perSecond) best = { connections, perSecond };
  }
  return best.connections;
}

async function measureLatency(fixture: CreateFixture): Promise<Measurement[]> {
  const { rounds, roundMs } = fixture.environment.options;
  await runHttp(fixture, 'spread', 2, roundMs);
  await runHttp(fixture, 'bare', 2, roundMs);
  const { a, b } = await alternateRounds(
    rounds,
    () => runHttp(fixture, 'spread', 2, roundMs),
    () => runHttp(fixture, 'bare', 2, roundMs),
  );
  const medians = { a: a.map(({ medianMs }) => medianMs), b: b.map(({ medianMs }) => medianMs) };
  const parts = {
    'service ms': median(medians.a),
    'bare ms': median(medians.b),
    'p99 ms': `${median(a.map(({ p99Ms }) => p99Ms)).toFixed(2)} : ${median(b.map(({ p99Ms }) => p99Ms)).toFixed(2)}`,
  };
  return [{ target: 'latency', value: medianRatio(medians), parts }];
}

async function measureHotCreates(fixture: CreateFixture): Promise<Measurement[]> {
  const { rounds, roundMs } = fixture.environment.options;
  await runHttp(fixture, 'hot', 32, roundMs);
  const measured = await alternateRounds(
    rounds,
    () => withTimedProcesses(fixture, 'service', () => runHttp(fixture, 'hot', 32, roundMs)),
    () => withTimedProcesses(fixture, 'bare', () => runBareStatement(fixture, [HOT_ACCOUNT], 32, roundMs)),
  );
  return [{ target: 'hot', ...summarizeThroughput(measured, 'on 32 connections') }];
}

interface TimedResult extends LoopResult {
  microseconds: Record<string, number>;
}

async function withTimedProcesses(
  { environment, api, http, statement }: CreateFixture,
  what: 'service' | 'bare',
  work: () => Promise<LoopResult>,
): Promise<TimedResult> {
  const database = { postgres: environment.postgres.pid };
  const processes: Record<string, number | null> =
    what === 'service'
      ? { api: api.pid, ...database, redis: environment.redis.pid, client: http.pid }
      : { 'bare postgres': database.postgres, 'bare client': statement.pid };
  const { result, microseconds } = await withProcessorTime(processes, work, ({ done }) => done);
  return { ...result, microseconds };
}

function summarizeThroughput(
  { a, b }: Rounds<TimedResult, TimedResult>,
  bare: string,
): Pick<Measurement, 'value' | 'parts'> {
  const perSecond = { a: a.map((result) => result.perSecond), b: b.map((result) => result.perSecond) };
  return {
    value: medianRatio(perSecond),
    parts: {
      'service/s': median(perSecond.a),
      'bare/s': median(perSecond.b),
      bare,
      'p99 ms': `${median(a.map(({ p99Ms }) => p99Ms)).toFixed(1)} : ${median(b.map(({ p99Ms }) => p99Ms)).toFixed(1)}`,
      ...medianMicroseconds(a),
      ...medianMicroseconds(b),
    },
  };
}

function buildMemoryMeasurement(idle: MemoryUsage | null, loaded: MemoryUsage | null): Measurement {
  return {
    target: 'memoryApi',
    value: loaded?.peakMb ?? null,
    parts: { idle: idle?.residentMb ?? 'n/a', 'after the load': loaded?.residentMb ?? 'n/a', 'value is the': 'peak' },
  };
}
