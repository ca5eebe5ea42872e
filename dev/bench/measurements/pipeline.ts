import { alternateRounds, median, medianRatio } from '../../local/statistics.ts';
import type { BenchChild } from '../childProcess.ts';
import { readDatabaseUsage } from '../databaseUsage.ts';
import type { BenchEnvironment } from '../environment.ts';
import type { LoopResult } from '../load/closedLoop.ts';
import { emptyRedis, findSaturation, runPipelineRound, startPipeline, WORKER_CONCURRENCY } from '../pipelineRounds.ts';
import { medianMicroseconds, readMemoryUsage } from '../processUsage.ts';
import type { Measurement } from '../report.ts';
import { waitForSteadyState } from '../waitForSteadyState.ts';

const JOBS_PER_GENERATION = 2;
/** Enough waiting jobs that the bare worker is never idle. */
const BARE_BACKLOG = 4_000;

/** Jobs that do nothing: a process that adds them, and one that performs them. */
interface BareQueue {
  adder: BenchChild;
  performer: BenchChild;
}

/**
 * Measures generations per second from create to end: a closed loop with enough in flight that the two seconds before a
 * first poll delay nothing. The baseline is jobs that do nothing, two per generation, added and processed in a closed
 * loop of their own on the same Redis.
 */
export async function measurePipeline(environment: BenchEnvironment): Promise<Measurement[]> {
  const pipeline = await startPipeline(environment, 'bench_pipeline');
  const { api, worker, client } = pipeline;
  const bare: BareQueue = {
    adder: await environment.child('./baselines/bareQueue.ts', environment.postgres.url),
    performer: await environment.child('./baselines/bareQueue.ts', environment.postgres.url),
  };
  await bare.performer.call('startWorking', WORKER_CONCURRENCY);
  const idle = readMemoryUsage(worker.pid);

  const inFlight = await findSaturation(pipeline);
  const { a, b } = await alternateRounds(
    environment.options.pipeline.rounds,
    () => runPipelineRound(pipeline, inFlight),
    () => runBareRound(environment, bare),
  );
  const loaded = readMemoryUsage(worker.pid);
  const apiMemory = readMemoryUsage(api.pid);
  const { updates, hotUpdates } = await readDatabaseUsage(client);
  await pipeline.end();
  await Promise.all([bare.adder.end(), bare.performer.end()]);
  await emptyRedis(environment);

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
        bare: `added one by one, 32 in flight; processed at concurrency ${WORKER_CONCURRENCY}`,
        ...medianMicroseconds(a),
        'WAL bytes': median(a.map(({ walBytes }) => walBytes)),
        'HOT updates': `${((100 * hotUpdates) / updates).toFixed(0)} %`,
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

async function runBareRound({ options }: BenchEnvironment, { adder, performer }: BareQueue): Promise<number> {
  const performed = () => performer.call<number>('performed');
  const before = await performed();
  let from: { at: number; jobs: number } | undefined;
  let to = { at: 0, jobs: 0 };
  await adder.call('startAdding', BARE_BACKLOG);
  await waitForSteadyState(async () => {
    to = { at: performance.now(), jobs: (await performed()) - before };
    await adder.call('allow', to.jobs + BARE_BACKLOG);
    if (to.jobs >= BARE_BACKLOG) from ??= to;
    return from !== undefined && to.at - from.at >= options.pipeline.bareMs;
  });
  const { done } = await adder.call<LoopResult>('stopAdding');
  await waitForSteadyState(async () => (await performed()) - before >= done);
  const jobs = to.jobs - from!.jobs;
  return (1_000 * jobs) / JOBS_PER_GENERATION / (to.at - from!.at);
}
