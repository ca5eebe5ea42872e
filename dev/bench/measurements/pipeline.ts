import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { waitUntil } from '../../local/servers/processes.ts';
import type { BareQueue } from '../baselines/bareQueue.ts';
import type { Upstream } from '../baselines/upstream.ts';
import type { Bench, BenchApi } from '../bench.ts';
import type { BenchChild, BenchProcess } from '../childProcess.ts';
import type { Figure, Figures, Round } from '../figure.ts';
import { buildCreates } from '../httpRequests.ts';
import type { HttpLoad } from '../load/httpLoad.ts';
import { readChildrenProcessorMs, readMemory, readOwnProcessorMs } from '../processUsage.ts';
import { countRows, verifyCount } from '../verify.ts';

/** The service's default. */
const WORKER_CONCURRENCY = 16;
const CREATE_CLIENTS = 32;
const JOBS_PER_GENERATION = 2;
/** Enough waiting jobs that the bare worker is never idle. */
const BARE_BACKLOG = 4_000;
/** Maximum time for a round to reach its steady state, or its end. */
const STEADY_STATE_TIMEOUT_MS = 120_000;

/** One version of the service with a database, an upstream and clients of its own. */
interface Pipeline {
  bench: Bench;
  client: Client;
  api: BenchApi;
  worker: BenchProcess;
  http: BenchChild<HttpLoad>;
  upstream: BenchChild<Upstream>;
  /** Verifies the sums of the database. */
  verify(): Promise<void>;
}

/**
 * Measures generations per second from create to end: a closed loop with enough in flight that the two seconds before a
 * first poll delay nothing. The baseline is jobs that do nothing, two per generation, added and processed in a closed
 * loop of their own on the same Redis.
 */
export async function* measure(bench: Bench): Figures {
  const { rounds, bareMs } = bench.options.pipeline;
  const pipeline = await startPipeline(bench, 'pipeline');
  const adder = await bench.child<BareQueue>('baselines/bareQueue.ts', bench.environment.postgres.url);
  const performer = await bench.child<BareQueue>('baselines/bareQueue.ts', bench.environment.postgres.url);
  await performer.work(WORKER_CONCURRENCY);
  const inFlight = await findSaturation(pipeline);
  yield {
    name: `whole pipeline, ${inFlight} in flight : bare BullMQ, two jobs each`,
    ours: () => runPipelineRound(pipeline, inFlight),
    bare: () => runBareRound(adder, performer, bareMs),
    target: [0.3, 1],
    rounds,
    isWarm: true,
  };
  const memory = async () => ({
    ...readMemory(pipeline.worker.pid),
    'peak of the API MB': readMemory(pipeline.api.pid)['peak MB'],
  });
  yield { name: 'RSS of the worker under load, thumbnails apart', ours: memory, by: 'peak MB', target: [150, 110] };
  await pipeline.verify();
}

/** Compares the pipelines of two versions, with as many generations in flight. */
export async function* comparePipelines(bench: Bench, checkout: string): Figures {
  const present = await startPipeline(bench, 'pipeline_new');
  const other = await startPipeline(bench, 'pipeline_old', checkout);
  const inFlight = await findSaturation(present);
  const figure: Figure = {
    name: `pipeline, ${inFlight} in flight, new : old`,
    ours: () => runPipelineRound(present, inFlight),
    bare: () => runPipelineRound(other, inFlight),
    isDetailed: true,
  };
  yield figure;
  await present.verify();
  await other.verify();
}

async function startPipeline(bench: Bench, name: string, checkout?: string): Promise<Pipeline> {
  const { url, client, verify } = await bench.seed(name, { checkout });
  const upstream = await bench.child<Upstream>('baselines/upstream.ts', url);
  const env = {
    FAL_BASE_URL: await upstream.start(),
    FAL_KEY: 'bench',
    WORKER_CONCURRENCY: String(WORKER_CONCURRENCY),
  };
  const api = await bench.api(url, {}, checkout);
  const worker = bench.worker(url, env, checkout);
  await waitForWorker(client);
  const http = await bench.http();
  await http.prepare({ name: 'create', port: api.port, expect: 201, requests: buildCreates(bench.options.accounts) });
  const verifyAll = async (): Promise<void> => {
    await verify(await http.countCreated());
    await verifyAllSucceeded(client);
  };
  return { bench, client, api, worker, http, upstream, verify: verifyAll };
}

/**
 * Finds, while the code warms up, how many generations must be in flight: with too few, all of them wait for the two
 * seconds before a first poll at the same time, and the machine idles. Doubles the number until that gains next to
 * nothing.
 */
async function findSaturation(pipeline: Pipeline): Promise<number> {
  const { leastInFlight, mostInFlight } = pipeline.bench.options.pipeline;
  let before = 0;
  for (let inFlight = leastInFlight; ; inFlight *= 2) {
    const perSecond = (await runPipelineRound(pipeline, inFlight))['per second'] as number;
    if (perSecond < 1.1 * before || inFlight >= mostInFlight) return inFlight;
    before = perSecond;
  }
}

/**
 * Runs three times as many generations as are in flight at a time. Only the middle third counts for the throughput, in
 * the order of their end: the number in flight is constant, and it covers a whole cycle if they end in bursts.
 */
async function runPipelineRound(
  { bench, client, api, worker, http, upstream }: Pipeline,
  inFlight: number,
): Promise<Round> {
  const total = 3 * inFlight;
  const countDelivered = async () => (await upstream.counts()).delivered;
  const before = await countDelivered();
  const startedAt = new Date();
  const processes = {
    api,
    worker: () => readOwnProcessorMs(worker.pid),
    // Its ratio between two versions is 1.00 unless rendering has changed, which shows how far the others can be
    // trusted.
    thumbnails: () => readChildrenProcessorMs(worker.pid),
    client: http,
    upstream,
  };
  const costs = await bench.timed(processes, async () => {
    await http.start('create', CREATE_CLIENTS, inFlight);
    await waitForSteadyState(async () => {
      const ended = (await countDelivered()) - before;
      await http.allow(Math.min(total, ended + inFlight));
      return ended >= total;
    });
    const { done } = await http.stop();
    await waitForSteadyState(async () => (await countQueued(client)) === 0);
    return { done };
  });
  const { rows } = await client.query<{ rate: number; seconds: number; hot: number }>(
    `SELECT $2 / extract(epoch FROM max(completed_at) - min(completed_at))::float8 AS rate,
            percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM completed_at - created_at)) AS seconds,
            (SELECT 100 * sum(n_tup_hot_upd)::float8 / sum(n_tup_upd) FROM pg_stat_user_tables
              WHERE relname = 'generations') AS hot
       FROM (SELECT created_at, completed_at, row_number() OVER (ORDER BY completed_at) AS place
               FROM generations WHERE created_at >= $1) ended
      WHERE place BETWEEN $2 AND 2 * $2::int`,
    [startedAt, inFlight],
  );
  const { rate, seconds, hot } = rows[0]!;
  return { ...costs, 'per second': rate, 'median s': seconds, 'HOT updates %': hot };
}

async function runBareRound(
  adder: BenchChild<BareQueue>,
  performer: BenchChild<BareQueue>,
  ms: number,
): Promise<Round> {
  const before = await performer.performed();
  let from: { at: number; jobs: number } | undefined;
  let to = { at: 0, jobs: 0 };
  await adder.add(BARE_BACKLOG);
  await waitForSteadyState(async () => {
    to = { at: performance.now(), jobs: (await performer.performed()) - before };
    await adder.allow(to.jobs + BARE_BACKLOG);
    if (to.jobs >= BARE_BACKLOG) from ??= to;
    return from !== undefined && to.at - from.at >= ms;
  });
  const added = await adder.stop();
  await waitForSteadyState(async () => (await performer.performed()) - before >= added);
  return { 'per second': (1_000 * (to.jobs - from!.jobs)) / JOBS_PER_GENERATION / (to.at - from!.at) };
}

/**
 * Checks a condition every 20 ms, which costs nothing, until it holds.
 * @throws Error after two minutes.
 */
export async function waitForSteadyState(isReached: () => Promise<boolean>): Promise<void> {
  if (!(await waitUntil(isReached, STEADY_STATE_TIMEOUT_MS)))
    throw new Error('The pipeline reached no steady state within two minutes.');
}

/** Counts the generations that have not ended. */
export async function countQueued(client: Client): Promise<number> {
  const { rows } = await client.query<{ queued: number }>('SELECT sum(in_flight)::int AS queued FROM accounts');
  return rows[0]?.queued ?? 0;
}

/** Waits until the worker has probed the models, as it does when it starts: the seeded probes are in the future. */
export async function waitForWorker(client: Client): Promise<void> {
  await waitForSteadyState(async () => (await countRows(client, 'upstream_health WHERE probed_at > now()')) === 0);
  await delay(1_000);
}

/** @throws Error if a generation has not succeeded. */
export async function verifyAllSucceeded(client: Client): Promise<void> {
  const others = await countRows(client, `generations WHERE status <> 'succeeded'`);
  verifyCount('generations that did not succeed', others, 0);
}
