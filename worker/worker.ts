import { setTimeout } from 'node:timers/promises';
import { type Job, Worker } from 'bullmq';
import { measureBacklog } from '../shared/domain/platform/backlogMetrics.ts';
import { checkModelHealthIfOverdue } from '../shared/domain/generations/execution/healthCheck.ts';
import { waitForInFlight, startDraining, resetDraining, trackInFlight } from '../shared/lib/drain.ts';
import { failExpired } from '../shared/domain/generations/execution/sweep.ts';
import { verifyMediaStore } from '../shared/gateways/media/storeOutput.ts';
import { requireUpstreamKeys } from '../shared/gateways/upstreams/index.ts';
import { config } from '../shared/lib/config.ts';
import { logger } from '../shared/lib/logger.ts';
import { jobDuration } from '../shared/lib/metrics.ts';
import { stopMetricsServer, isMetricsEnabled, startMetricsServer } from '../shared/lib/metricsServer.ts';
import { connectForBlocking } from '../shared/lib/redis.ts';
import { withLogContext } from '../shared/lib/logContext.ts';
import {
  isJobName,
  JOB_LOCK_MS,
  parsePayload,
  QUEUES,
  STALLED_INTERVAL_MS,
  MAX_STALLED_COUNT,
} from '../shared/queues/catalog.ts';
import { syncJobSchedulers, openQueues, getQueuePrefix } from '../shared/queues/enqueue.ts';
import { createProcessors, type Processors } from './registry.ts';

/** How often a worker does what must go on while Redis is away or has lost its schedules. */
const MAINTENANCE_MS = 5_000;

/** How long Redis may take to acknowledge the jobs that have ended, when a worker stops. */
const REDIS_ACK_TIMEOUT_MS = 2_000;

export interface WorkerHandle {
  /** Takes no new jobs, waits for those in progress, then closes. */
  close(): Promise<void>;
}

/**
 * Works on the queues of the open service. Resolves when it does so and the models have been probed.
 * @throws ConfigError if an upstream lacks its key, or outputs cannot be stored.
 */
export async function startWorker(): Promise<WorkerHandle> {
  requireUpstreamKeys();
  await startMetricsServer();
  await verifyMediaStore();
  resetDraining();
  const processors = createProcessors();
  const connection = connectForBlocking('worker');
  const workers = QUEUES.map((name) => {
    const worker = new Worker(name, (job) => processJob(processors, job), {
      connection,
      prefix: getQueuePrefix(),
      concurrency: config.WORKER_CONCURRENCY,
      lockDuration: JOB_LOCK_MS,
      stalledInterval: STALLED_INTERVAL_MS,
      maxStalledCount: MAX_STALLED_COUNT,
      skipVersionCheck: true,
    });
    logWorkerEvents(worker);
    return worker;
  });

  await openQueues();
  await syncJobSchedulers().catch(logRetry('the schedules'));
  if (isMetricsEnabled()) await measureBacklog().catch(logRetry('looking at the backlog'));
  const maintenanceTimer = setInterval(() => void runMaintenance(), MAINTENANCE_MS);
  // Models are probed at once, not when the schedule next comes round: until then nothing could be created.
  await processors['models.healthCheck']({}).catch(logRetry('probing the models'));
  // So is what was due while no worker ran; however long it takes, nothing waits for it.
  runInBackground(processors['creditPeriods.renew']({}), 'granting credits');
  runInBackground(processors['billing.maintain']({}), 'keeping billing up');

  return {
    close: async () => {
      clearInterval(maintenanceTimer);
      stopMetricsServer();
      startDraining();
      // Takes no new jobs, waits for those in progress, and tells Redis. That may go away at any moment, or not answer,
      // and BullMQ would wait for it for ever: a job that it was not told of is done once more, and finds nothing to do.
      const closed = Promise.all(workers.map((worker) => worker.close()));
      await Promise.race([closed, waitForInFlight().then(() => setTimeout(REDIS_ACK_TIMEOUT_MS))]);
      await waitForInFlight();
      connection.disconnect();
    },
  };
}

/** Work that nothing waits for, except the worker when it stops. */
function runInBackground(work: Promise<void>, what: string): void {
  trackInFlight(work.catch(logRetry(what)));
}

function processJob(processors: Processors, job: Job): Promise<void> {
  const work = runJob(processors, job);
  trackInFlight(work.catch(() => {}));
  return work;
}

async function runJob(processors: Processors, job: Job): Promise<void> {
  if (!isJobName(job.name)) throw new Error(`No job is called ${job.name}.`);
  const payload = parsePayload(job.name, job.data);
  const processor = processors[job.name] as (payload: unknown) => Promise<void>;
  const startedAt = performance.now();
  const record = (outcome: string) =>
    jobDuration.observe({ job: job.name, outcome }, (performance.now() - startedAt) / 1_000);
  try {
    await withLogContext({ ...payload, id: job.id ?? job.name, queue: job.queueName }, () => processor(payload));
    record('done');
  } catch (error) {
    record('failed');
    throw error;
  }
}

function logWorkerEvents(worker: Worker): void {
  worker.on('failed', (job, error) => {
    const { name, id, attemptsMade } = job ?? {};
    logger.error(
      { queue: worker.name, job: name, jobId: id, attempt: attemptsMade, error: error.message },
      'a job failed',
    );
  });
  worker.on('stalled', (jobId) => logger.warn({ queue: worker.name, jobId }, 'took over a job from a dead worker'));
  // Redis out of reach: the connection logs it and recovers by itself.
  worker.on('error', (error) => logger.debug({ queue: worker.name, error: error.message }, 'worker error'));
}

function logRetry(what: string): (error: unknown) => void {
  return (error) => logger.warn({ error: (error as Error).message }, `${what}: will be tried again`);
}

/** Must go on when Redis has lost the schedules, or is away: each part independently of the others. */
async function runMaintenance(): Promise<void> {
  await Promise.all([
    syncJobSchedulers().catch(logRetry('the schedules')),
    checkModelHealthIfOverdue().catch(logRetry('probing the models')),
    failExpired().catch(logRetry('failing what is past its deadline')),
    isMetricsEnabled() ? measureBacklog().catch(logRetry('looking at the backlog')) : undefined,
  ]);
}
