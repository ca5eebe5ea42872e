import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { getQueuePrefix, type JobName, type QueueName } from '../../shared/queues/catalog.ts';

/** Scheduled jobs by queue: see shared/queues/catalog.ts. */
const SCHEDULED_JOBS: Partial<Record<QueueName, JobName[]>> = {
  maintenance: ['creditPeriods.renew', 'generation.sweep'],
  notifications: ['webhooks.deliver'],
  billing: ['autoTopups.sweep', 'billing.maintain', 'payouts.run'],
  tasks: ['tasks.sweep'],
};

/**
 * Enqueues scheduled jobs several times at once, as a queue with at-least-once delivery may: a job without due work
 * does nothing. Gives up if a server is unavailable.
 * @param only enqueues this job alone.
 */
export async function enqueueDuplicateJobs(
  redisUrl: string,
  prefix: string,
  times: number,
  only?: string,
): Promise<void> {
  const connection = new Redis(redisUrl, {
    maxRetriesPerRequest: 1,
    retryStrategy: () => null,
    commandTimeout: 2_000,
  });
  connection.on('error', () => {});
  try {
    const enqueue = (name: QueueName, jobs: readonly (readonly [job: string, data: object])[]) => {
      const queue = new Queue(name, { connection, prefix: getQueuePrefix(name, prefix), skipVersionCheck: true });
      queue.on('error', () => {});
      const opts = { removeOnComplete: true, removeOnFail: true };
      const repeated = Array.from({ length: times }, () => jobs.map(([job, data]) => ({ name: job, data, opts })));
      return queue.addBulk(repeated.flat());
    };
    const scheduled = Object.entries(SCHEDULED_JOBS).map(([queue, names]) => {
      const enqueued = names.filter((name) => only === undefined || name === only);
      return enqueue(
        queue as QueueName,
        enqueued.map((name) => [name, {}]),
      );
    });
    await Promise.all(scheduled);
  } catch {
    // A server is unavailable, or has just stopped.
  } finally {
    connection.disconnect();
  }
}
