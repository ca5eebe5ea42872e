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
  const enqueue = ([name, scheduled]: [string, JobName[]]) => {
    const options = { connection, prefix: getQueuePrefix(name as QueueName, prefix), skipVersionCheck: true };
    const queue = new Queue(name, options);
    queue.on('error', () => {});
    const opts = { removeOnComplete: true, removeOnFail: true };
    const jobs = scheduled
      .filter((job) => only === undefined || job === only)
      .map((job) => ({ name: job, data: {}, opts }));
    return queue.addBulk(Array.from({ length: times }, () => jobs).flat());
  };
  try {
    await Promise.all(Object.entries(SCHEDULED_JOBS).map(enqueue));
  } catch {
    // A server is unavailable, or has just stopped.
  } finally {
    connection.disconnect();
  }
}
