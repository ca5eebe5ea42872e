import { setTimeout } from 'node:timers/promises';
import { type Job, Worker } from 'bullmq';
import { reportMargins } from '../shared/domain/catalog/margins.ts';
import { measureBacklog } from '../shared/domain/platform/backlogMetrics.ts';
import { checkModelHealthIfOverdue } from '../shared/domain/generations/execution/healthCheck.ts';
import { measureModels } from '../shared/domain/generations/execution/modelHealth.ts';
import { ALL_TASK_KINDS } from '../shared/domain/privacy/taskKinds.ts';
import { waitForInFlight, startDraining, resetDraining, trackInFlight } from '../shared/lib/drain.ts';
import { failExpired } from '../shared/domain/generations/execution/sweep.ts';
import { verifyMediaStore } from '../shared/gateways/media/storeOutput.ts';
import { verifyPlanPricesAtStart } from '../shared/gateways/payments/index.ts';
import { requireUpstreamKeys } from '../shared/gateways/upstreams/index.ts';
import { config } from '../shared/lib/config.ts';
import { logger } from '../shared/lib/logger.ts';
import { jobDuration } from '../shared/lib/metrics.ts';
import { stopMetricsServer, isMetricsEnabled, startMetricsServer } from '../shared/lib/metricsServer.ts';
import { connectForBlocking } from '../shared/lib/redis.ts';
import { withLogContext } from '../shared/lib/logContext.ts';
import { withJobSpan } from '../shared/lib/tracing.ts';
import {
  getQueuePrefix,
  isJobName,
  JOB_LOCK_MS,
  parsePayload,
  QUEUES,
  STALLED_INTERVAL_MS,
  MAX_STALLED_COUNT,
} from '../shared/queues/catalog.ts';
import { syncJobSchedulers, openQueues } from '../shared/queues/enqueue.ts';
import { createProcessors, type Processors } from './registry.ts';

/** Interval of the maintenance that must continue while Redis is unavailable or has lost its schedules. */
const MAINTENANCE_INTERVAL_MS = 5_000;
/** Time that a start waits for the first probes. Those of a large catalog take longer while a provider hangs. */
const FIRST_PROBES_MAX_MS = 10_000;

/** Time that Redis has to acknowledge completed jobs when a worker shuts down. */
const REDIS_ACK_TIMEOUT_MS = 2_000;

export interface WorkerHandle {
  /** Takes no new jobs, waits for those in progress, then closes. */
  close(): Promise<void>;
}

/**
 * Starts processing the queues of the open service. Resolves after the first probe of the models.
 * @throws ConfigError if an upstream has no key, outputs cannot be stored, or a price of a plan is wrong.
 */
export async function startWorker(): Promise<WorkerHandle> {
  requireUpstreamKeys();
  reportMargins();
  await startMetricsServer();
  await Promise.all([verifyMediaStore(), verifyPlanPricesAtStart()]);
  resetDraining();
  const processors = createProcessors();
  const connection = connectForBlocking('worker');
  const workers = QUEUES.map((name) => {
    const worker = new Worker(name, (job) => processJob(processors, job), {
      connection,
      prefix: getQueuePrefix(name),
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
  await syncJobSchedulers().catch(logWarning('job schedules not synced; will retry'));
  if (isMetricsEnabled())
    await measureBacklog(ALL_TASK_KINDS, measureModels).catch(logWarning('backlog not measured; will retry'));
  const maintenanceTimer = setInterval(() => void runMaintenance(), MAINTENANCE_INTERVAL_MS);
  // Probes now and not at the next scheduled run: no generation can be created before the first probe.
  const probes = processors['models.healthCheck']({});
  runInBackground(probes, 'models not probed; will retry');
  await Promise.race([probes.catch(() => {}), setTimeout(FIRST_PROBES_MAX_MS, undefined, { ref: false })]);
  // Work that became due while no worker was running. The start does not wait for it.
  runInBackground(processors['creditPeriods.renew']({}), 'credit periods not renewed; will retry');
  runInBackground(processors['billing.maintain']({}), 'billing maintenance failed; will retry');

  return {
    close: async () => {
      clearInterval(maintenanceTimer);
      stopMetricsServer();
      startDraining();
      // BullMQ takes no new jobs, waits for those in progress, and acknowledges them. It would wait forever for a Redis
      // that does not respond. A job without acknowledgement runs once more, and finds nothing to do.
      const closed = Promise.all(workers.map((worker) => worker.close()));
      await Promise.race([closed, waitForInFlight().then(() => setTimeout(REDIS_ACK_TIMEOUT_MS))]);
      await waitForInFlight();
      connection.disconnect();
    },
  };
}

/** Tracks work that is not awaited, so that a shutdown waits for it. */
function runInBackground(work: Promise<void>, failureMessage: string): void {
  trackInFlight(work.catch(logWarning(failureMessage)));
}

function processJob(processors: Processors, job: Job): Promise<void> {
  const work = runJob(processors, job);
  trackInFlight(work.catch(() => {}));
  return work;
}

async function runJob(processors: Processors, job: Job): Promise<void> {
  if (!isJobName(job.name)) throw new Error(`Unknown job ${job.name}.`);
  const payload = parsePayload(job.name, job.data);
  const processor = processors[job.name] as (payload: unknown) => Promise<void>;
  const startedAt = performance.now();
  const record = (outcome: string) =>
    jobDuration.observe({ job: job.name, outcome }, (performance.now() - startedAt) / 1_000);
  try {
    const { name, queueName: queue, id = name } = job;
    const generations = 'generations' in payload ? payload.generations : [];
    await withJobSpan({ name, queue, generations }, () =>
      withLogContext({ id, queue, generations }, () => processor(payload)),
    );
    record('done');
  } catch (error) {
    record('failed');
    throw error;
  }
}

function logWorkerEvents(worker: Worker): void {
  worker.on('failed', (job, err) => {
    const { name, id, attemptsMade } = job ?? {};
    logger.error({ err, queue: worker.name, job: name, jobId: id, attempt: attemptsMade }, 'job failed');
  });
  worker.on('stalled', (jobId) => logger.warn({ queue: worker.name, jobId }, 'job stalled; taken over'));
  // Redis is unavailable: the connection logs it and reconnects.
  worker.on('error', (err) => logger.debug({ err, queue: worker.name }, 'worker error'));
}

/** Returns a handler that logs an error as a warning. */
function logWarning(message: string): (error: unknown) => void {
  return (err) => logger.warn({ err }, message);
}

/** Runs the tasks that must not depend on Redis or its schedules. A failure of one does not affect the others. */
async function runMaintenance(): Promise<void> {
  await Promise.all([
    syncJobSchedulers().catch(logWarning('job schedules not synced; will retry')),
    checkModelHealthIfOverdue().catch(logWarning('models not probed; will retry')),
    failExpired().catch(logWarning('expired generations not failed; will retry')),
    isMetricsEnabled()
      ? measureBacklog(ALL_TASK_KINDS, measureModels).catch(logWarning('backlog not measured; will retry'))
      : undefined,
  ]);
}
