import { setTimeout } from 'node:timers/promises';
import { type Job, Worker } from 'bullmq';
import { meterBacklog } from '../shared/domain/metrics/backlog.ts';
import { checkModelsIfOverdue } from '../shared/domain/settlement/checkModels.ts';
import { allEnded, beginNoMore, keepTrackOf } from '../shared/domain/settlement/underWay.ts';
import { failExpired } from '../shared/domain/settlement/sweep.ts';
import { requireMediaStore } from '../shared/gateways/media/collect.ts';
import { closeDownloadConnections } from '../shared/gateways/media/download.ts';
import { closeStore } from '../shared/gateways/media/store.ts';
import { openPayments } from '../shared/gateways/payments/index.ts';
import { closeUpstreamConnections, requireKeys } from '../shared/gateways/upstreams/index.ts';
import { config } from '../shared/lib/config.ts';
import { db } from '../shared/lib/db.ts';
import { logger } from '../shared/lib/logger.ts';
import { jobs } from '../shared/lib/meters.ts';
import { closeMetrics, IS_METERED, openMetrics } from '../shared/lib/metricsServer.ts';
import { connectForWaiting } from '../shared/lib/redis.ts';
import { onStopSignal } from '../shared/lib/stop.ts';
import { follow } from '../shared/lib/trail.ts';
import { stopListening } from '../shared/queues/announcements.ts';
import {
  isJobName,
  JOB_LOCK_MS,
  parsePayload,
  QUEUES,
  STALLED_CHECK_MS,
  STALLED_MAX,
} from '../shared/queues/catalog.ts';
import { closeQueues, keepSchedules, openQueues, QUEUE_PREFIX } from '../shared/queues/enqueue.ts';
import { PROCESSORS } from './registry.ts';

/** The worker process. Any number of them may run. */
const KEEP_UP_MS = 5_000;

/** For how long Redis is told of the jobs that have ended: while it is away, nobody knows whether it ever hears. */
const TELL_REDIS_MS = 2_000;

function perform(job: Job): Promise<void> {
  const work = carryOut(job);
  keepTrackOf(work.catch(() => {}));
  return work;
}

async function carryOut(job: Job): Promise<void> {
  if (!isJobName(job.name)) throw new Error(`No job is called ${job.name}.`);
  const payload = parsePayload(job.name, job.data);
  const process = PROCESSORS[job.name] as (payload: unknown) => Promise<void>;
  const startedAt = performance.now();
  const note = (outcome: string) => jobs.observe({ job: job.name, outcome }, (performance.now() - startedAt) / 1_000);
  try {
    await follow({ ...payload, id: job.id ?? job.name, queue: job.queueName }, () => process(payload));
    note('done');
  } catch (error) {
    note('failed');
    throw error;
  }
}

requireKeys();
await openPayments(config);
await openMetrics();
await requireMediaStore();
const connection = connectForWaiting('worker');
const workers = QUEUES.map(
  (name) =>
    new Worker(name, perform, {
      connection,
      prefix: QUEUE_PREFIX,
      concurrency: config.WORKER_CONCURRENCY,
      lockDuration: JOB_LOCK_MS,
      stalledInterval: STALLED_CHECK_MS,
      maxStalledCount: STALLED_MAX,
      skipVersionCheck: true,
    }),
);
for (const worker of workers) {
  worker.on('failed', (job, error) => {
    const { name, id, attemptsMade } = job ?? {};
    logger.error(
      { queue: worker.name, job: name, jobId: id, attempt: attemptsMade, error: error.message },
      'a job failed',
    );
  });
  worker.on('stalled', (jobId) => logger.warn({ queue: worker.name, jobId }, 'took over a job from a dead worker'));
  // Redis out of reach: the connection says so and comes back by itself.
  worker.on('error', (error) => logger.debug({ queue: worker.name, error: error.message }, 'worker error'));
}

await openQueues();
await keepSchedules().catch(logProblem('the schedules'));
if (IS_METERED) await meterBacklog().catch(logProblem('looking at the backlog'));
const keeping = setInterval(() => void keepUp(), KEEP_UP_MS);
// Models are probed at once, not when the schedule next comes round: until then nothing could be created.
await PROCESSORS['models.check']({}).catch(logProblem('probing the models'));
// So does what stood still while no worker lived; however long it takes, nothing waits for it.
PROCESSORS['credits.grant']({}).catch(logProblem('granting credits'));
PROCESSORS['billing.keepUp']({}).catch(logProblem('keeping billing up'));

function logProblem(what: string): (error: unknown) => void {
  return (error) => logger.warn({ error: (error as Error).message }, `${what}: will be tried again`);
}

/** What must go on when Redis has forgotten the schedules, or is away: each part whatever becomes of the others. */
async function keepUp(): Promise<void> {
  await Promise.all([
    keepSchedules().catch(logProblem('the schedules')),
    checkModelsIfOverdue().catch(logProblem('probing the models')),
    failExpired().catch(logProblem('failing what is past its deadline')),
    IS_METERED ? meterBacklog().catch(logProblem('looking at the backlog')) : undefined,
  ]);
}

onStopSignal(async () => {
  clearInterval(keeping);
  closeMetrics();
  beginNoMore();
  // Takes no new jobs, waits for those under way, and tells Redis. That may go away at any moment, or keep silent, and
  // BullMQ would wait for it for ever: a job that it was not told of is done once more, and finds nothing to do.
  const closed = Promise.all(workers.map((worker) => worker.close()));
  await Promise.race([closed, allEnded().then(() => setTimeout(TELL_REDIS_MS))]);
  await allEnded();
  stopListening();
  await closeQueues();
  connection.disconnect();
  await Promise.all([db.destroy(), closeUpstreamConnections(), closeDownloadConnections(), closeStore()]);
});
logger.info({ queues: QUEUES, concurrency: config.WORKER_CONCURRENCY }, 'worker ready');
