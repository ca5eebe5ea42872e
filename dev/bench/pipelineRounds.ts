import { Redis } from 'ioredis';
import type { Client } from 'pg';
import type { BenchChild, BenchProcess } from './childProcess.ts';
import { readDatabaseUsage } from './databaseUsage.ts';
import type { BenchApi, BenchEnvironment } from './environment.ts';
import { buildCreateRequest, listSpreadAccounts } from './httpRequests.ts';
import type { LoopResult } from './load/closedLoop.ts';
import { readChildrenProcessorMs, readOwnProcessorMs, withProcessorTime } from './processUsage.ts';
import { verifyAllSucceeded } from './verify.ts';
import { loadSeed } from './versions.ts';
import { countQueued, waitForSteadyState, waitForWorker } from './waitForSteadyState.ts';

/** The service's default. */
export const WORKER_CONCURRENCY = 16;
const CREATE_CLIENTS = 32;

/** One version of the service with a database, an upstream and clients of its own. */
export interface Pipeline {
  environment: BenchEnvironment;
  /** `new`, or `old` for another version. */
  label: string;
  client: Client;
  api: BenchApi;
  worker: BenchProcess;
  http: BenchChild;
  upstream: BenchChild;
  /** Accepted creates. */
  created: number;
  /** Verifies the sums of the database, and ends all processes. */
  end(): Promise<void>;
}

/**
 * Starts an API and a worker on a database with accounts and nothing else.
 * @param checkout another version of the service.
 */
export async function startPipeline(
  environment: BenchEnvironment,
  database: string,
  checkout?: string,
): Promise<Pipeline> {
  const { accounts } = environment.options;
  const { url, client } = await environment.database(database, checkout);
  const { seedDatabase, verifySums } = await loadSeed(checkout);
  await seedDatabase(client, { accounts, hotRows: 0, rowsPerAccount: 0 });
  const upstream = await environment.child('./baselines/instantUpstream.ts', url);
  const base = await upstream.call<string>('base');
  const api = await environment.api(url, {}, checkout);
  const env = { FAL_BASE_URL: base, FAL_KEY: 'bench', WORKER_CONCURRENCY: String(WORKER_CONCURRENCY) };
  const worker = await environment.worker(url, env, checkout);
  await waitForWorker(client);
  const http = await environment.child('./load/httpLoad.ts', url);
  const requests = listSpreadAccounts(accounts).map((account) => buildCreateRequest(account));
  await http.call('prepare', { name: 'create', port: api.port, expect: 201, requests });
  const label = checkout === undefined ? 'new' : 'old';
  const pipeline: Pipeline = { environment, label, client, api, worker, http, upstream, created: 0, end };

  async function end(): Promise<void> {
    await verifySums(client, pipeline.created);
    await verifyAllSucceeded(client);
    await Promise.all([api, worker, http, upstream].map((process) => process.end()));
  }

  return pipeline;
}

/** Deletes all jobs. */
export async function emptyRedis(environment: BenchEnvironment): Promise<void> {
  const redis = new Redis(environment.redis.url);
  await redis.flushall();
  redis.disconnect();
}

/**
 * Finds, while the code warms up, how many generations must be in flight: with too few, all of them wait for the two
 * seconds before a first poll at the same time, and the machine idles. Doubles the number until that gains next to
 * nothing.
 */
export async function findSaturation(pipeline: Pipeline): Promise<number> {
  const { leastInFlight, mostInFlight } = pipeline.environment.options.pipeline;
  let before = 0;
  for (let inFlight = leastInFlight; ; inFlight *= 2) {
    const { perSecond } = await runPipelineRound(pipeline, inFlight);
    if (perSecond < 1.1 * before || inFlight >= mostInFlight) return inFlight;
    before = perSecond;
  }
}

export interface PipelineRound {
  perSecond: number;
  medianSeconds: number;
  /** Processor time of each process per generation. */
  microseconds: Record<string, number>;
  /** Write-ahead log per generation. */
  walBytes: number;
}

/**
 * Runs three times as many generations as are in flight at a time. Only the middle third counts for the throughput, in
 * the order of their end: the number in flight is constant, and it covers a whole cycle if they end in bursts.
 */
export async function runPipelineRound(pipeline: Pipeline, inFlight: number): Promise<PipelineRound> {
  const { environment, client, http, upstream, api, worker } = pipeline;
  const total = 3 * inFlight;
  const delivered = async () => (await upstream.call<{ delivered: number }>('counts')).delivered;
  const before = await delivered();
  const usageBefore = await readDatabaseUsage(client);
  const startedAt = new Date();
  const processes = {
    api: api.pid,
    worker: () => readOwnProcessorMs(worker.pid),
    thumbnails: () => readChildrenProcessorMs(worker.pid),
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
      pipeline.created += (await http.call<LoopResult>('stop')).done;
      await waitForSteadyState(async () => (await countQueued(client)) === 0);
    },
    () => total,
  );
  const usageAfter = await readDatabaseUsage(client);
  const { rows } = await client.query<{ from: Date; to: Date; seconds: number }>(
    `SELECT min(completed_at) AS from, max(completed_at) AS to,
            percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM completed_at - created_at)) AS seconds
       FROM (SELECT created_at, completed_at, row_number() OVER (ORDER BY completed_at) AS place
               FROM generations WHERE created_at >= $1) ended
      WHERE place BETWEEN $2 AND 2 * $2::int`,
    [startedAt, inFlight],
  );
  const { from, to, seconds } = rows[0]!;
  return {
    perSecond: (1_000 * inFlight) / (to.getTime() - from.getTime()),
    medianSeconds: seconds,
    microseconds,
    walBytes: (usageAfter.walBytes - usageBefore.walBytes) / total,
  };
}
