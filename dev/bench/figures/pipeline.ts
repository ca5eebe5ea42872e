import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Client } from 'pg';
import type { Child } from '../child.ts';
import type { LoopResult } from '../load/closedLoop.ts';
import type { Measurement } from '../report.ts';
import { createRequest, spreadAccounts } from '../requests.ts';
import { seed } from '../seed.ts';
import type { ServiceProcess } from '../../servers/builtService.ts';
import type { Api, Stage } from '../stage.ts';
import { inTurn, median, ratioOf } from '../statistics.ts';
import { medianMicroseconds, memoryOf, withProcessorTime } from '../usage.ts';
import { until } from '../until.ts';
import { verifyEnds, verifySums } from '../verify.ts';

/** The service's own default, and what the bare worker gets. */
const CONCURRENCY = 16;
const JOBS_EACH = 2;
const CREATE_CLIENTS = 32;
/** Enough jobs waiting that the bare worker is never idle. */
const BARE_BACKLOG = 4_000;

interface Rig {
  stage: Stage;
  client: Client;
  api: Api;
  worker: ServiceProcess;
  http: Child;
  upstream: Child;
  adder: Child;
  performer: Child;
  created: number;
}

/**
 * Generations from their create to their end, a second: a closed loop that keeps so many under way that the two
 * seconds before a first poll hold nobody up. Against jobs that do nothing, two a generation, added and performed in a
 * closed loop of their own on the same Redis.
 */
export async function measurePipeline(stage: Stage): Promise<Measurement[]> {
  const { url, client } = await stage.database('bench_pipeline');
  await seed(client, { accounts: stage.options.accounts, hotRows: 0, rowsEach: 0 });
  const upstream = await stage.child('./standins/upstream.ts', url);
  const base = await upstream.ask<string>('base');
  const api = await stage.api(url);
  const env = { FAL_BASE_URL: base, FAL_KEY: 'bench', WORKER_CONCURRENCY: String(CONCURRENCY) };
  const worker = await stage.worker(url, env);
  await workerIsReady(client);
  const http = await stage.child('./load/http.ts', url);
  const requests = spreadAccounts(stage.options.accounts).map((account) => createRequest(account));
  await http.ask('prepare', { name: 'create', port: api.port, expect: 201, requests });
  const adder = await stage.child('./standins/bareQueue.ts', url);
  const performer = await stage.child('./standins/bareQueue.ts', url);
  await performer.ask('startWorking', CONCURRENCY);
  const idle = memoryOf(worker.pid);
  const rig: Rig = { stage, client, api, worker, http, upstream, adder, performer, created: 0 };

  const inFlight = await enoughInFlight(rig);
  const { a, b } = await inTurn(
    stage.options.pipeline.rounds,
    () => serviceRound(rig, inFlight),
    () => bareRound(rig),
  );
  const loaded = memoryOf(worker.pid);
  const apiMemory = memoryOf(api.pid);
  await verifySums(client, rig.created);
  await verifyEnds(client);
  await Promise.all([api, worker, http, upstream, adder, performer].map((process) => process.end()));
  const redis = new Redis(stage.redis.url);
  await redis.flushall();
  redis.disconnect();

  const perSecond = { a: a.map((round) => round.perSecond), b };
  return [
    {
      target: 'pipeline',
      value: ratioOf(perSecond),
      parts: {
        'service/s': median(perSecond.a),
        'bare/s': median(b),
        'under way': inFlight,
        'median s': median(a.map(({ medianSeconds }) => medianSeconds)),
        bare: `added one by one, 32 under way; worked on at concurrency ${CONCURRENCY}`,
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
 * Finds out, while the code gets warm, how many must be under way: with too few, all of them wait out the two seconds
 * at the same time, and the machine idles. Twice as many, until that brings next to nothing.
 */
async function enoughInFlight(rig: Rig): Promise<number> {
  const { leastInFlight, mostInFlight } = rig.stage.options.pipeline;
  let before = 0;
  for (let inFlight = leastInFlight; ; inFlight *= 2) {
    const { perSecond } = await serviceRound(rig, inFlight);
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
 * Three times as many generations as are under way at a time. What counts is the middle third, by the order in which
 * they end: all the while as many are under way, and a whole cycle is in it where they end in bursts.
 */
async function serviceRound(rig: Rig, inFlight: number): Promise<ServiceRound> {
  const { stage, client, http, upstream, api, worker } = rig;
  const inAll = 3 * inFlight;
  const delivered = async () => (await upstream.ask<{ delivered: number }>('counts')).delivered;
  const before = await delivered();
  const startedAt = new Date();
  const processes = {
    api: api.pid,
    worker: worker.pid,
    postgres: stage.postgres.pid,
    redis: stage.redis.pid,
    client: http.pid,
    upstream: upstream.pid,
  };
  const { microseconds } = await withProcessorTime(
    processes,
    async () => {
      await http.ask('start', 'create', CREATE_CLIENTS, inFlight);
      await until(async () => {
        const ended = (await delivered()) - before;
        await http.ask('allow', Math.min(inAll, ended + inFlight));
        return ended >= inAll;
      });
      rig.created += (await http.ask<LoopResult>('stop')).done;
      await until(async () => (await queued(client)) === 0);
    },
    () => inAll,
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

async function bareRound({ stage, adder, performer }: Rig): Promise<number> {
  const performed = () => performer.ask<number>('performed');
  const before = await performed();
  let from: { at: number; jobs: number } | undefined;
  let to = { at: 0, jobs: 0 };
  await adder.ask('startAdding', BARE_BACKLOG);
  await until(async () => {
    to = { at: performance.now(), jobs: (await performed()) - before };
    await adder.ask('allow', to.jobs + BARE_BACKLOG);
    if (to.jobs >= BARE_BACKLOG) from ??= to;
    return from !== undefined && to.at - from.at >= stage.options.pipeline.bareMs;
  });
  const { done } = await adder.ask<LoopResult>('stopAdding');
  await until(async () => (await performed()) - before >= done);
  const jobs = to.jobs - from!.jobs;
  return (1_000 * jobs) / JOBS_EACH / (to.at - from!.at);
}

async function queued(client: Client): Promise<number> {
  const { rows } = await client.query<{ queued: number }>('SELECT sum(in_flight)::int AS queued FROM accounts');
  return rows[0]?.queued ?? 0;
}

/** The worker probes the models when it starts; what was seeded lies in the future until then. */
async function workerIsReady(client: Client): Promise<void> {
  await until(async () => {
    const { rowCount } = await client.query('SELECT 1 FROM upstream_health WHERE probed_at > now()');
    return rowCount === 0;
  });
  await delay(1_000);
}
