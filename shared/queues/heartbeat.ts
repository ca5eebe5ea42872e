import { getQueuePrefix, QUEUES } from './catalog.ts';
import { getProducer } from './enqueue.ts';

/**
 * Time after which a worker that has not processed a heartbeat job counts as lost. Several times the job's interval.
 */
const HEARTBEAT_TTL_MS = 45_000;
const WRITE_TEST_TTL_MS = 5_000;

const heartbeatKey = () => `${getQueuePrefix('maintenance')}:heartbeat`;

/** Records that a worker has received a job through the queue. */
export async function recordWorkerHeartbeat(): Promise<void> {
  await getProducer().set(heartbeatKey(), '1', 'PX', HEARTBEAT_TTL_MS);
}

/**
 * Tests whether jobs can be enqueued and are processed: writes to the slot of every queue, and looks for a heartbeat.
 * Rejects if Redis is unavailable or refuses writes.
 */
export async function probeQueues(): Promise<{ hasWorker: boolean }> {
  const redis = getProducer();
  const [heartbeats] = await Promise.all([
    redis.exists(heartbeatKey()),
    ...QUEUES.map((queue) => redis.set(`${getQueuePrefix(queue)}:write-test`, '1', 'PX', WRITE_TEST_TTL_MS)),
  ]);
  return { hasWorker: heartbeats === 1 };
}
