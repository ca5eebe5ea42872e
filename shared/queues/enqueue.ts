import { Queue } from 'bullmq';
import { createBatcher } from '../lib/batcher.ts';
import { config } from '../lib/config.ts';
import { logger } from '../lib/logger.ts';
import { connectForCommands, waitUntilReady } from '../lib/redis.ts';
import { perService } from '../lib/serviceScope.ts';
import { getRequestIds } from '../lib/logContext.ts';
import {
  getJobDefinition,
  MAX_IDS_PER_JOB,
  getIntervalMs,
  JOBS,
  JOB_NAMES,
  type JobName,
  type Payload,
  parsePayload,
} from './catalog.ts';
import type { QueueName } from './catalog.ts';

/** The braces keep a queue's keys in one slot of a Redis Cluster. */
export const getQueuePrefix = () => `{${config.REDIS_PREFIX}}`;

const getProducer = perService(() => connectForCommands('producer'));
const queues = perService(() => new Map<QueueName, Queue>());

/** The producing side of a queue; made at its first use, on one connection for all of them. */
export function getQueue(name: QueueName): Queue {
  let queue = queues().get(name);
  if (queue === undefined) {
    queue = new Queue(name, {
      connection: getProducer(),
      prefix: getQueuePrefix(),
      skipWaitingForReady: true,
      skipVersionCheck: true,
      // Nobody reads what BullMQ notes of each job: ten thousand entries a queue would be most of what Redis holds.
      streams: { events: { maxLen: 1_000 } },
      defaultJobOptions: { removeOnComplete: { count: 1_000 }, removeOnFail: { count: 5_000 } },
    });
    // Without a listener an error event would end the process; the connection logs what there is to say.
    queue.on('error', () => {});
    queues().set(name, queue);
  }
  return queue;
}

/** Puts a job on its queue. Rejects at once while Redis is away. */
export async function enqueue<Name extends JobName>(name: Name, payload: Payload<Name>, delayMs = 0): Promise<void> {
  const definition = getJobDefinition(name);
  await getQueue(definition.queue).add(name, parsePayload(name, payload), {
    delay: delayMs,
    ...getRetryOptions(definition),
  });
}

function getRetryOptions({ attempts }: { attempts: number }) {
  return { attempts, backoff: { type: 'exponential', delay: 1_000 } };
}

interface Batcher {
  add: (id: string) => Promise<void>;
  /** Ids that are waiting or being enqueued. At none the batcher is dropped: each delay has one of its own. */
  pending: number;
}
const batchers = perService(() => new Map<string, Batcher>());

/**
 * Rings for one generation, after its row says that it is due. Never rejects and need not be awaited: what gathers
 * while one call is under way goes as one job, and if Redis loses it, or is away, the sweep rings again.
 * @returns whether it was heard.
 */
export function enqueueGeneration(name: 'generation.dispatch' | 'generation.poll', generationId: string, delayMs = 0) {
  return enqueueBatched(`${name} ${delayMs}`, generationId, (generationIds) =>
    enqueue(name, buildGenerationsPayload(generationIds), delayMs),
  );
}

function buildGenerationsPayload(generationIds: string[]): Payload<'generation.dispatch'> {
  const requestIds = getRequestIds(generationIds);
  return requestIds === undefined ? { generationIds } : { generationIds, requestIds };
}

/** Rings for a generation that somebody is reading; once more is not louder, however long nobody answers. */
export function enqueueRefresh(generationId: string): Promise<boolean> {
  const name = 'generation.refresh';
  return enqueueBatched(name, generationId, async (generationIds) => {
    await getQueue(JOBS[name].queue).addBulk(
      generationIds.map((id) => ({
        name,
        data: parsePayload(name, { generationIds: [id] }),
        opts: { deduplication: { id } },
      })),
    );
  });
}

/** Rings for an event that was stored. */
export function enqueuePaymentEvent(eventId: string): Promise<boolean> {
  return enqueueBatched('paymentEvents.process', eventId, (eventIds) => enqueue('paymentEvents.process', { eventIds }));
}

/** Rings for an account whose balance has fallen below its threshold. */
export function enqueueAutoTopup(accountId: number): Promise<boolean> {
  return enqueueBatched('autoTopups.charge', String(accountId), (ids) =>
    enqueue('autoTopups.charge', { accountIds: ids.map(Number) }),
  );
}

async function enqueueBatched(key: string, id: string, enqueueIds: (ids: string[]) => Promise<unknown>) {
  let batcher = batchers().get(key);
  if (batcher === undefined) {
    const batch = createBatcher<string, void>({
      maxItems: MAX_IDS_PER_JOB,
      maxInFlight: 1,
      run: async (ids) => {
        await enqueueIds(ids);
        return [];
      },
    });
    batcher = { add: batch, pending: 0 };
    batchers().set(key, batcher);
  }
  batcher.pending += 1;
  try {
    await batcher.add(id);
    return true;
  } catch (error) {
    logger.warn({ batcher: key, id, error: (error as Error).message }, 'not heard; the sweep rings again');
    return false;
  } finally {
    batcher.pending -= 1;
    if (batcher.pending === 0) batchers().delete(key);
  }
}

/** A schedule that is so many times its interval late has lost its next run. */
const MISSED_INTERVALS_MAX = 3;

/**
 * Sees to it that every scheduled job has its schedule in Redis. Repeated by each worker, since an emptied Redis
 * forgets schedules like all else; an unchanged one is left as it is.
 */
export async function syncJobSchedulers(): Promise<void> {
  for (const name of JOB_NAMES) {
    const definition = getJobDefinition(name);
    const { queue, attempts } = definition;
    const everyMs = getIntervalMs(definition);
    if (everyMs === undefined) continue;
    const existing = await getQueue(queue).getJobScheduler(name);
    const isRunning = existing?.next !== undefined && existing.next > Date.now() - MISSED_INTERVALS_MAX * everyMs;
    const isUnchanged = existing?.every === everyMs && existing.template?.opts?.attempts === attempts;
    if (isUnchanged && isRunning) continue;
    await getQueue(queue).upsertJobScheduler(
      name,
      { every: everyMs },
      {
        name,
        data: {},
        opts: { ...getRetryOptions({ attempts }), removeOnComplete: true, removeOnFail: { count: 100 } },
      },
    );
  }
}

/** Whether Redis answers now. */
export async function isRedisAvailable(): Promise<boolean> {
  return (
    (await getProducer()
      .ping()
      .catch(() => undefined)) === 'PONG'
  );
}

/** Connects ahead of the first job, waiting a moment for Redis. */
export async function openQueues(): Promise<void> {
  await waitUntilReady(getProducer(), 2_000);
}

export async function closeQueues(): Promise<void> {
  await Promise.allSettled([...queues().values()].map((queue) => queue.close()));
  queues().clear();
  getProducer().disconnect();
}
