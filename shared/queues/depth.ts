import { QUEUES, type QueueName } from './catalog.ts';
import { getQueue } from './enqueue.ts';

export interface QueueDepth {
  queue: QueueName;
  /** True if workers take no jobs from the queue until it is resumed. */
  isPaused: boolean;
  counts: { waiting: number; delayed: number; active: number; failed: number };
  /** Time since the oldest waiting job became due. */
  oldestSeconds: number;
}

/** Reads the depth of each queue. Rejects immediately while Redis is unavailable. */
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
      // BullMQ timestamps are system time, also where a test has moved our clock.
      const ageMs = first === undefined ? 0 : Date.now() - first.timestamp - first.delay;
      const oldestSeconds = Math.max(0, ageMs / 1_000);
      return { queue: name, isPaused, counts: { waiting, delayed, active, failed }, oldestSeconds };
    }),
  );
}
