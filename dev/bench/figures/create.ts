import type { Child } from '../child.ts';
import type { LoopResult } from '../load/closedLoop.ts';
import type { Requests } from '../load/http.ts';
import type { FigureName } from '../options.ts';
import type { Measurement } from '../report.ts';
import { createRequest, spreadAccounts } from '../requests.ts';
import { HOT_ACCOUNT, seed } from '../seed.ts';
import type { Api, Stage } from '../stage.ts';
import { inTurn, median, ratioOf, type Rounds } from '../statistics.ts';
import { medianMicroseconds, type Memory, memoryOf, withProcessorTime } from '../usage.ts';
import { verifyDispatches, verifySums } from '../verify.ts';

/** What creating is measured with: the API and, beside it, the bare statement and a bare web server. */
interface Rig {
  stage: Stage;
  api: Api;
  http: Child;
  statement: Child;
  bareKoa: Child;
  spread: number[];
  /** Creates that were answered for, and those of them that came through the API. */
  created: { inAll: number; byApi: number };
}

/**
 * Creates over HTTP, with their dispatch enqueued and no worker, against the same statement run bare. All of them are
 * added up in the end, and looked for in the queue.
 */
export async function measureCreates(stage: Stage): Promise<Measurement[]> {
  const { url, client } = await stage.database('bench_create');
  await seed(client, { accounts: stage.options.accounts + 1, hotRows: 0, rowsEach: 0 });
  const api = await stage.api(url);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const idle = memoryOf(api.pid);
  const rig: Rig = {
    stage,
    api,
    http: await stage.child('./load/http.ts', url),
    statement: await stage.child('./load/statement.ts', url),
    bareKoa: await stage.child('./standins/bareKoa.ts', url),
    spread: spreadAccounts(stage.options.accounts + 1),
    // The two that were made to catch the statement.
    created: { inAll: 2, byApi: 0 },
  };
  await prepareRequests(rig);
  const parts: [FigureName, (rig: Rig) => Promise<Measurement[]>][] = [
    ['create', spreadCreates],
    ['latency', latency],
    ['hot', hotCreates],
  ];
  const measurements: Measurement[] = [];
  for (const [name, measure] of parts)
    if (stage.options.only.includes(name)) measurements.push(...(await measure(rig)));
  measurements.push(memoryMeasurement(idle, memoryOf(api.pid)));
  await verifySums(client, rig.created.inAll);
  await verifyDispatches(stage.redis.url, client, rig.created.byApi);
  await Promise.all([api.end(), rig.http.end(), rig.statement.end(), rig.bareKoa.end()]);
  return measurements;
}

async function prepareRequests({ api, http, bareKoa, spread }: Rig): Promise<void> {
  const barePort = await bareKoa.ask<number>('port');
  const prepare = (requests: Requests) => http.ask('prepare', requests);
  const common = { expect: 201, port: api.port };
  await prepare({ ...common, name: 'spread', requests: spread.map((account) => createRequest(account)) });
  await prepare({ ...common, name: 'hot', requests: [createRequest(HOT_ACCOUNT)] });
  const bare = spread.map((account) => createRequest(account, `/charge/${account}`));
  await prepare({ ...common, name: 'bare', port: barePort, requests: bare });
}

async function overHttp({ http, created }: Rig, name: string, clients: number, ms: number): Promise<LoopResult> {
  const result = await http.ask<LoopResult>('run', name, clients, ms);
  created.inAll += result.done;
  if (name !== 'bare') created.byApi += result.done;
  return result;
}

async function bareStatement(rig: Rig, accounts: number[], clients: number, ms: number): Promise<LoopResult> {
  const result = await rig.statement.ask<LoopResult>('run', clients, ms, accounts);
  rig.created.inAll += result.done;
  return result;
}

async function spreadCreates(rig: Rig): Promise<Measurement[]> {
  const { rounds, roundMs } = rig.stage.options;
  // The first requests meet cold code, and keys that the API has not seen.
  await overHttp(rig, 'spread', 32, roundMs);
  await bareStatement(rig, rig.spread, 32, roundMs);
  const of32 = await inTurn(
    rounds,
    () => timed(rig, 'service', () => overHttp(rig, 'spread', 32, roundMs)),
    () => timed(rig, 'bare', () => bareStatement(rig, rig.spread, 32, roundMs)),
  );
  const connections = await fastestConnections(rig);
  await overHttp(rig, 'spread', 128, roundMs);
  const of128 = await inTurn(
    rounds,
    () => timed(rig, 'service', () => overHttp(rig, 'spread', 128, roundMs)),
    () => timed(rig, 'bare', () => bareStatement(rig, rig.spread, connections, roundMs)),
  );
  return [
    { target: 'create32', ...throughput(of32, 'on 32 connections') },
    { target: 'create128', ...throughput(of128, `on ${connections} connections, the fastest of 32 to 128`) },
  ];
}

/** More connections than the database has processors need not be faster: the bare statement gets what suits it. */
async function fastestConnections(rig: Rig): Promise<number> {
  let best = { connections: 32, perSecond: 0 };
  for (const connections of [32, 64, 128]) {
    await bareStatement(rig, rig.spread, connections, 200);
    const { perSecond } = await bareStatement(rig, rig.spread, connections, rig.stage.options.roundMs);
    if (perSecond > best.perSecond) best = { connections, perSecond };
  }
  return best.connections;
}

async function latency(rig: Rig): Promise<Measurement[]> {
  const { rounds, roundMs } = rig.stage.options;
  await overHttp(rig, 'spread', 2, roundMs);
  await overHttp(rig, 'bare', 2, roundMs);
  const { a, b } = await inTurn(
    rounds,
    () => overHttp(rig, 'spread', 2, roundMs),
    () => overHttp(rig, 'bare', 2, roundMs),
  );
  const medians = { a: a.map(({ medianMs }) => medianMs), b: b.map(({ medianMs }) => medianMs) };
  const parts = {
    'service ms': median(medians.a),
    'bare ms': median(medians.b),
    'p99 ms': `${median(a.map(({ p99Ms }) => p99Ms)).toFixed(2)} : ${median(b.map(({ p99Ms }) => p99Ms)).toFixed(2)}`,
  };
  return [{ target: 'latency', value: ratioOf(medians), parts }];
}

async function hotCreates(rig: Rig): Promise<Measurement[]> {
  const { rounds, roundMs } = rig.stage.options;
  await overHttp(rig, 'hot', 32, roundMs);
  const measured = await inTurn(
    rounds,
    () => timed(rig, 'service', () => overHttp(rig, 'hot', 32, roundMs)),
    () => timed(rig, 'bare', () => bareStatement(rig, [HOT_ACCOUNT], 32, roundMs)),
  );
  return [{ target: 'hot', ...throughput(measured, 'on 32 connections') }];
}

interface TimedResult extends LoopResult {
  microseconds: Record<string, number>;
}

async function timed(
  { stage, api, http, statement }: Rig,
  what: 'service' | 'bare',
  work: () => Promise<LoopResult>,
): Promise<TimedResult> {
  const database = { postgres: stage.postgres.pid };
  const processes: Record<string, number | null> =
    what === 'service'
      ? { api: api.pid, ...database, redis: stage.redis.pid, client: http.pid }
      : { 'bare postgres': database.postgres, 'bare client': statement.pid };
  const { result, microseconds } = await withProcessorTime(processes, work, ({ done }) => done);
  return { ...result, microseconds };
}

function throughput({ a, b }: Rounds<TimedResult, TimedResult>, bare: string): Pick<Measurement, 'value' | 'parts'> {
  const perSecond = { a: a.map((result) => result.perSecond), b: b.map((result) => result.perSecond) };
  return {
    value: ratioOf(perSecond),
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

function memoryMeasurement(idle: Memory | null, loaded: Memory | null): Measurement {
  return {
    target: 'memoryApi',
    value: loaded?.peakMb ?? null,
    parts: { idle: idle?.residentMb ?? 'n/a', 'after the load': loaded?.residentMb ?? 'n/a', 'value is the': 'peak' },
  };
}
