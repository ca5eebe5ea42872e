import { Redis } from 'ioredis';
import type { Client } from 'pg';
import type { BenchChild, BenchProcess } from '../childProcess.ts';
import type { LoopResult } from '../load/closedLoop.ts';
import type { Measurement } from '../report.ts';
import { buildCreateRequest, listSpreadAccounts } from '../httpRequests.ts';
import { seedDatabase } from '../seed.ts';
import type { BenchApi, BenchEnvironment } from '../environment.ts';
import { alternateRounds, median, medianRatio } from '../../local/statistics.ts';
import { medianMicroseconds, readMemoryUsage, withProcessorTime } from '../processUsage.ts';
import { countQueued, waitForSteadyState, waitForWorker } from '../waitForSteadyState.ts';
import { verifyAllSucceeded, verifySums } from '../verify.ts';

/** The service's default, which the bare worker uses as well. */
const CONCURRENCY = 16;
const JOBS_PER_GENERATION = 2;
const CREATE_CLIENTS = 32;
/** Enough waiting jobs that the bare worker is never idle. */
const BARE_BACKLOG = 4_000;

interface PipelineFixture {
  environment: BenchEnvironment;
  client: Client;
  api: BenchApi;
  worker: BenchProcess;
  http: BenchChild;
  upstream: BenchChild;
  adder: BenchChild;
  performer: BenchChild;
  created: number;
}

/**
 * Measures generations per second from create to end: a closed loop with enough in flight that the two seconds before a
 * first poll delay nothing. The baseline is jobs that do nothing, two per generation, added and processed in a closed
 * loop of their own on the same Redis.
 */
export async function measurePipeline(environment: BenchEnvironment): Promise<Measurement[]> {
  const { url, client } = await environment.database('bench_pipeline');
  await seedDatabase(client, { accounts: environment.options.accounts, hotRows: 0, rowsPerAccount: 0 });
  const upstream = await environment.child('./baselines/instantUpstream.ts', url);
  const base = await upstream.call<string>('base');
  const api = await environment.api(url);
  const env = { FAL_BASE_URL: base, FAL_KEY: 'bench', WORKER_CONCURRENCY: String(CONCURRENCY) };
  const worker = await environment.worker(url, env);
  await waitForWorker(client);
  const http = await environment.child('./load/httpLoad.ts', url);
  const requests = listSpreadAccounts(environment.options.accounts).map((account) => buildCreateRequest(account));
  await http.call('prepare', { name: 'create', port: api.port, expect: 201, requests });
  const adder = await environment.child('./baselines/bareQueue.ts', url);
  const performer = await environment.child('./baselines/bareQueue.ts', url);
  await performer.call('startWorking', CONCURRENCY);
  const idle = readMemoryUsage(worker.pid);
  const fixture: PipelineFixture = { environment, client, api, worker, http, upstream, adder, performer, created: 0 };

  const inFlight = await findSaturation(fixture);
  const { a, b } = await alternateRounds(
    environment.options.pipeline.rounds,
    () => runServiceRound(fixture, inFlight),
    () => runBareRound(fixture),
  );
  const loaded = readMemoryUsage(worker.pid);
  const apiMemory = readMemoryUsage(api.pid);
  await verifySums(client, fixture.created);
  await verifyAllSucceeded(client);
  await Promise.all([api, worker, http, upstream, adder, performer].map((process) => process.end()));
  const redis = new Redis(environment.redis.url);
  await redis.flushall();
  redis.disconnect();

  const perSecond = { a: a.map((round) => round.perSecond), b };
  return [
    {
      target: 'pipeline',
      value: medianRatio(perSecond),
      parts: {
        'service/s': median(perSecond.a),
        'bare/s': median(b),
        'in flight': inFlight,
        'median s': median(a.map(({ medianSeconds }) => medianSeconds)),
        bare: `added one by one, 32 in flight; processed at concurrency ${CONCURRENCY}`,
        ...medianMicroseconds(a),
      },
    },
    {
      target: 'memoryWorker',
      value: loaded?.peakMb ?? null,
      parts: {
        idle: idle?.residentMb ?? 'n/a',
        'after the load': loaded?.residentMb ?? 'n/a',
        'value is the': 'peak, thumbnails apart',
        'API peak meanwhile': apiMemory?.peakMb ?? 'n/a',
      },
    },
  ];
}

/**
 * Finds, while the code warms up, how many generations must be in flight: with too few, all of them wait for the two
 * seconds at the same time, and the machine idles. Doubles the number until that gains next to nothing.
 */
async function findSaturation(fixture: PipelineFixture): Promise<number> {
  const { leastInFlight, mostInFlight } = fixture.environment.options.pipeline;
  let before = 0;
  for (let inFlight = leastInFlight; ; inFlight *= 2) {
    const { perSecond } = await runServiceRound(fixture, inFlight);
    if (perSecond < 1.1 * before || inFlight >= mostInFlight) return inFlight;
    before = perSecond;
  }
}

interface ServiceRound {
  perSecond: number;
  medianSeconds: number;
  microseconds: Record<string, number>;
}

/**
 * Runs three times as many generations as are in flight at a time. Only the middle third counts, in the order of their
 * end: the number in flight is constant, and it covers a whole cycle if they end in bursts.
 */
async function runServiceRound(fixture: PipelineFixture, inFlight: number): Promise<ServiceRound> {
  const { environment, client, http, upstream, api, worker } = fixture;
  const total = 3 * inFlight;
  const delivered = async () => (await upstream.call<{ delivered: number }>('counts')).delivered;
  const before = await delivered();
  const startedAt = new Date();
  const processes = {
    api: api.pid,
    worker: worker.pid,
    postgres: environment.postgres.pid,
    redis: environment.redis.pid,
    client: http.pid,
    upstream: upstream.pid,
  };
  const { microseconds } = await withProcessorTime(
    processes,
    async () => {
      await http.call('start', 'create', CREATE_CLIENTS, inFlight);
      await waitForSteadyState(async () => {
        const ended = (await delivered()) - before;
        await http.call('allow', Math.min(total, ended + inFlight));
        return ended >= total;
      });
      fixture.created += (await http.call<LoopResult>('stop')).done;
      await waitForSteadyState(async () => (await countQueued(client)) === 0);
    },
    () => total,
  );
  const { rows } = await client.query<{ from: Date; to: Date; seconds: number }>(
    `SELECT min(completed_at) AS from, max(completed_at) AS to,
            percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM completed_at - created_at)) AS seconds
       FROM (SELECT created_at, completed_at, row_number() OVER (ORDER BY completed_at) AS place
               FROM generations WHERE created_at >= $1) ended
      WHERE place BETWEEN $2 AND 2 * $2::int`,
    [startedAt, inFlight],
  );
  const { from, to, seconds } = rows[0]!;
  return { perSecond: (1_000 * inFlight) / (to.getTime() - from.getTime()), medianSeconds: seconds, microseconds };
}

async function runBareRound({ environment, adder, performer }: PipelineFixture): Promise<number> {
  const performed = () => performer.call<number>('performed');
  const before = await performed();
  let from: { at: number; jobs: number } | undefined;
  let to = { at: 0, jobs: 0 };
  await adder.call('startAdding', BARE_BACKLOG);
  await waitForSteadyState(async () => {
    to = { at: performance.now(), jobs: (await performed()) - before };
    await adder.call('allow', to.jobs + BARE_BACKLOG);
    if (to.jobs >= BARE_BACKLOG) from ??= to;
    return from !== undefined && to.at - from.at >= environment.options.pipeline.bareMs;
  });
  const { done } = await adder.call<LoopResult>('stopAdding');
  await waitForSteadyState(async () => (await performed()) - before >= done);
  const jobs = to.jobs - from!.jobs;
  return (1_000 * jobs) / JOBS_PER_GENERATION / (to.at - from!.at);
}
