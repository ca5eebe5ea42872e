import { type Job, Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { eventually, type TestService } from './testService.ts';

/**
 * Enqueues a job ahead of its schedule and resolves when it is completed. Polls the state of the job, as events of the
 * queue are trimmed and can be lost. A worker skips a run while the scheduled one is in progress, so one that
 * overlapped with another is repeated.
 * @throws Error if the job failed, with its reason.
 */
export async function runJob({ service }: { service: TestService }, queueName: string, job: string): Promise<void> {
  await withQueue(service, queueName, async (queue) => {
    while (await runBesideAnother(queue, job)) {
      const isRunning = async () => (await queue.getActive()).some(({ name }) => name === job);
      await eventually(`the other ${job} has ended`, async () => !(await isRunning()), 60_000);
    }
  });
}

/** Runs a job once. @returns whether another run of it overlapped. */
async function runBesideAnother(queue: Queue, job: string): Promise<boolean> {
  const { id } = await queue.add(job, {}, { removeOnComplete: false, removeOnFail: false });
  await eventually(
    `${job} has run`,
    async () => {
      const state = await queue.getJobState(id as string);
      if (state === 'failed') throw new Error(`${job} failed: ${(await queue.getJob(id as string))?.failedReason}`);
      return state === 'completed';
    },
    60_000,
  );
  const runs = (await queue.getJobs(['active', 'completed'], 0, 99)).filter(({ name }) => name === job);
  const own = runs.find((run) => run.id === id) as Job;
  return runs.some((run) => run !== own && haveOverlapped(run, own));
}

/** Returns true if both jobs were being processed at the same time. */
function haveOverlapped(one: Job, other: Job): boolean {
  return startedBeforeEnd(one, other) && startedBeforeEnd(other, one);
}

/** Returns true if a job started before another one ended. An active job has not ended yet. */
function startedBeforeEnd({ processedOn = 0 }: Job, { finishedOn = Number.POSITIVE_INFINITY }: Job): boolean {
  return processedOn <= finishedOn;
}

/** Opens a queue of a service, and closes it after use. */
export async function withQueue(
  service: TestService,
  name: string,
  use: (queue: Queue) => Promise<void>,
): Promise<void> {
  const connection = new Redis(service.env['REDIS_URL'] as string, { maxRetriesPerRequest: null });
  const queue = new Queue(name, { connection, prefix: `{${service.env['REDIS_PREFIX']}:${name}}` });
  try {
    await use(queue);
  } finally {
    await queue.close();
    connection.disconnect();
  }
}
