import { QUEUES, type QueueName } from './catalog.ts';
import { getQueue } from './enqueue.ts';

export interface QueueDepth {
  queue: QueueName;
  /** Whether nothing is taken from it until somebody resumes it. */
  isPaused: boolean;
  counts: { waiting: number; delayed: number; active: number; failed: number };
  /** For how long the first job in line has been due. */
  oldestSeconds: number;
}

/** How much is in each queue. Rejects at once while Redis is away. */
export function getQueueDepths(): Promise<QueueDepth[]> {
  return Promise.all(
    QUEUES.map(async (name) => {
      const queue = getQueue(name);
      const [counts, [first], isPaused] = await Promise.all([
        queue.getJobCounts('waiting', 'delayed', 'active', 'failed'),
        queue.getWaiting(0, 0),
        queue.isPaused(),
      ]);
      const { waiting = 0, delayed = 0, active = 0, failed = 0 } = counts;
      // BullMQ stamps jobs with this machine's time, whatever a test has added to ours.
      const ageMs = first === undefined ? 0 : Date.now() - first.timestamp - first.delay;
      const oldestSeconds = Math.max(0, ageMs / 1_000);
      return { queue: name, isPaused, counts: { waiting, delayed, active, failed }, oldestSeconds };
    }),
  );
}
