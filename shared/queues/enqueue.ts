import { Queue } from 'bullmq';
import { createBatcher } from '../lib/batcher.ts';
import { config } from '../lib/config.ts';
import { logger } from '../lib/logger.ts';
import { connectForCommands, readyWithin } from '../lib/redis.ts';
import { perService } from '../lib/serviceScope.ts';
import { requestsOf } from '../lib/trail.ts';
import {
  definitionOf,
  IDS_PER_JOB,
  intervalMs,
  JOBS,
  JOB_NAMES,
  type JobName,
  type Payload,
  parsePayload,
} from './catalog.ts';
import type { QueueName } from './catalog.ts';

/** The braces keep a queue's keys in one slot of a Redis Cluster. */
export const queuePrefix = () => `{${config.REDIS_PREFIX}}`;

const producer = perService(() => connectForCommands('producer'));
const queues = perService(() => new Map<QueueName, Queue>());

/** The producing side of a queue; made at its first use, on one connection for all of them. */
export function queueNamed(name: QueueName): Queue {
  let queue = queues().get(name);
  if (queue === undefined) {
    queue = new Queue(name, {
      connection: producer(),
      prefix: queuePrefix(),
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
  const definition = definitionOf(name);
  await queueNamed(definition.queue).add(name, parsePayload(name, payload), {
    delay: delayMs,
    ...retriesOf(definition),
  });
}

function retriesOf({ attempts }: { attempts: number }) {
  return { attempts, backoff: { type: 'exponential', delay: 1_000 } };
}

interface Bell {
  add: (id: string) => Promise<void>;
  /** Ids that are waiting or being enqueued. At none the batcher is dropped: each delay has one of its own. */
  pending: number;
}
const bells = perService(() => new Map<string, Bell>());

/**
 * Rings for one generation, after its row says that it is due. Never rejects and need not be awaited: what gathers
 * while one call is under way goes as one job, and if Redis loses it, or is away, the sweep rings again.
 * @returns whether it was heard.
 */
export function ring(name: 'generation.dispatch' | 'generation.poll', generationId: string, delayMs = 0) {
  return pull(`${name} ${delayMs}`, generationId, (generationIds) => enqueue(name, asPayload(generationIds), delayMs));
}

function asPayload(generationIds: string[]): Payload<'generation.dispatch'> {
  const requestIds = requestsOf(generationIds);
  return requestIds === undefined ? { generationIds } : { generationIds, requestIds };
}

/** Rings for a generation that somebody is reading; once more is not louder, however long nobody answers. */
export function ringForReader(generationId: string): Promise<boolean> {
  const name = 'generation.refresh';
  return pull(name, generationId, async (generationIds) => {
    await queueNamed(JOBS[name].queue).addBulk(
      generationIds.map((id) => ({
        name,
        data: parsePayload(name, { generationIds: [id] }),
        opts: { deduplication: { id } },
      })),
    );
  });
}

/** Rings for an event that was stored. */
export function ringForEvents(eventId: string): Promise<boolean> {
  return pull('payments.apply', eventId, (eventIds) => enqueue('payments.apply', { eventIds }));
}

/** Rings for an account whose balance has fallen below its threshold. */
export function ringForTopup(accountId: number): Promise<boolean> {
  return pull('account.topUp', String(accountId), (ids) => enqueue('account.topUp', { accountIds: ids.map(Number) }));
}

async function pull(key: string, id: string, add: (ids: string[]) => Promise<unknown>) {
  let bell = bells().get(key);
  if (bell === undefined) {
    const batch = createBatcher<string, void>({
      maxItems: IDS_PER_JOB,
      maxInFlight: 1,
      run: async (ids) => {
        await add(ids);
        return [];
      },
    });
    bell = { add: batch, pending: 0 };
    bells().set(key, bell);
  }
  bell.pending += 1;
  try {
    await bell.add(id);
    return true;
  } catch (error) {
    logger.warn({ bell: key, id, error: (error as Error).message }, 'not heard; the sweep rings again');
    return false;
  } finally {
    bell.pending -= 1;
    if (bell.pending === 0) bells().delete(key);
  }
}

/** A schedule that is so many times its interval late has lost its next run. */
const SCHEDULE_LATE = 3;

/**
 * Sees to it that every scheduled job has its schedule in Redis. Repeated by each worker, since an emptied Redis
 * forgets schedules like all else; an unchanged one is left as it is.
 */
export async function keepSchedules(): Promise<void> {
  for (const name of JOB_NAMES) {
    const definition = definitionOf(name);
    const { queue, attempts } = definition;
    const everyMs = intervalMs(definition);
    if (everyMs === undefined) continue;
    const existing = await queueNamed(queue).getJobScheduler(name);
    const isRunning = existing?.next !== undefined && existing.next > Date.now() - SCHEDULE_LATE * everyMs;
    const isAsNow = existing?.every === everyMs && existing.template?.opts?.attempts === attempts;
    if (isAsNow && isRunning) continue;
    await queueNamed(queue).upsertJobScheduler(
      name,
      { every: everyMs },
      { name, data: {}, opts: { ...retriesOf({ attempts }), removeOnComplete: true, removeOnFail: { count: 100 } } },
    );
  }
}

/** Whether Redis answers now. */
export async function isRedisThere(): Promise<boolean> {
  return (
    (await producer()
      .ping()
      .catch(() => undefined)) === 'PONG'
  );
}

/** Connects ahead of the first job, waiting a moment for Redis. */
export async function openQueues(): Promise<void> {
  await readyWithin(producer(), 2_000);
}

export async function closeQueues(): Promise<void> {
  await Promise.allSettled([...queues().values()].map((queue) => queue.close()));
  queues().clear();
  producer().disconnect();
}
