import { SpanKind } from '@opentelemetry/api';
import { Queue } from 'bullmq';
import { createBatcher } from '../lib/batcher.ts';
import { logger } from '../lib/logger.ts';
import { connectForCommands, waitUntilReady } from '../lib/redis.ts';
import { perService } from '../lib/serviceScope.ts';
import { getRequestId } from '../lib/logContext.ts';
import { getTraceparent, withSpan } from '../lib/tracing.ts';
import {
  getJobDefinition,
  MAX_IDS_PER_JOB,
  getIntervalMs,
  getQueuePrefix,
  JOBS,
  JOB_NAMES,
  type JobName,
  type Payload,
  parsePayload,
  type SubmittedGeneration,
  type UnsubmittedGeneration,
} from './catalog.ts';
import type { QueueName } from './catalog.ts';

/** Connection of all producers. */
export const getProducer = perService(() => connectForCommands('producer'));
const queues = perService(() => new Map<QueueName, Queue>());

/** Returns the producer of a queue. Created on first use; all queues share one connection. */
export function getQueue(name: QueueName): Queue {
  let queue = queues().get(name);
  if (queue === undefined) {
    queue = new Queue(name, {
      connection: getProducer(),
      prefix: getQueuePrefix(name),
      skipWaitingForReady: true,
      skipVersionCheck: true,
      // Nothing reads BullMQ's event stream. Its default of 10,000 entries a queue would be most of the data in Redis.
      streams: { events: { maxLen: 1_000 } },
      defaultJobOptions: { removeOnComplete: { count: 1_000 }, removeOnFail: { count: 5_000 } },
    });
    // An error event without a listener would end the process. The connection logs the error.
    queue.on('error', () => {});
    queues().set(name, queue);
  }
  return queue;
}

/** Adds a job to its queue. Rejects immediately while Redis is unavailable. */
async function enqueue<Name extends JobName>(name: Name, payload: Payload<Name>, delayMs = 0): Promise<void> {
  const definition = getJobDefinition(name);
  const { queue } = definition;
  const attributes = { 'messaging.system': 'bullmq', 'messaging.destination.name': queue };
  await withSpan({ name: `send ${name}`, kind: SpanKind.PRODUCER, attributes }, () =>
    getQueue(queue).add(name, parsePayload(name, payload), { delay: delayMs, ...getRetryOptions(definition) }),
  );
}

function getRetryOptions({ attempts }: { attempts: number }) {
  return { attempts, backoff: { type: 'exponential', delay: 1_000 } };
}

interface Batcher {
  add: (item: unknown) => Promise<void>;
  /** Number of items that wait or are being enqueued. At 0 the batcher of a delay is deleted: there are many delays. */
  pending: number;
}
const batchers = perService(() => new Map<string, Batcher>());

/**
 * Enqueues the submit of a generation. Call it after the row that makes it due is committed. Never rejects and need not
 * be awaited: concurrent calls share one job, and if Redis loses it or is unavailable, the sweep enqueues it again.
 * @param options.requestId request that creates the generation, for the logs of the job.
 * @returns whether Redis accepted the job.
 */
export function enqueueDispatch(
  { uuid, account_id, model, catalog_id, upstream_order, is_test }: UnsubmittedGeneration,
  { delayMs = 0, requestId }: { delayMs?: number; requestId?: string | undefined } = {},
): Promise<boolean> {
  const name = 'generation.dispatch';
  const order = upstream_order == null ? {} : { upstream_order };
  const item = { uuid, account_id, model, catalog_id, ...order, is_test, ...getOrigin(uuid, requestId) };
  return enqueueBatched(name, item, uuid, delayMs, (generations) => enqueue(name, { generations }, delayMs));
}

/** Enqueues a poll of a submitted generation. Never rejects, like {@link enqueueDispatch}. */
export function enqueuePoll(generation: SubmittedGeneration, delayMs = 0): Promise<boolean> {
  return enqueueSubmitted('generation.poll', generation, delayMs);
}

/** Enqueues the collection of an output. Never rejects, like {@link enqueueDispatch}. */
export function enqueueCollect(generation: SubmittedGeneration): Promise<boolean> {
  return enqueueSubmitted('generation.collect', generation, 0);
}

function enqueueSubmitted(
  name: 'generation.poll' | 'generation.collect',
  generation: SubmittedGeneration,
  delayMs: number,
): Promise<boolean> {
  const item = toSubmittedItem(generation);
  return enqueueBatched(name, item, item.uuid, delayMs, (generations) => enqueue(name, { generations }, delayMs));
}

/** Callers pass rows, of which a payload contains only some columns. */
function toSubmittedItem({ uuid, account_id, upstream, isAwaited }: SubmittedGeneration): SubmittedGeneration {
  return { uuid, account_id, upstream, ...(isAwaited === true ? { isAwaited } : {}), ...getOrigin(uuid) };
}

function getOrigin(uuid: string, requestId = getRequestId(uuid)): { requestId?: string; traceparent?: string } {
  const traceparent = getTraceparent(uuid);
  return {
    ...(requestId === undefined ? {} : { requestId }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}

/** Next step of a queued generation: a submit, polls once its upstream has accepted it, then its output is stored. */
export type NextStep = 'dispatch' | 'poll' | 'collect';

/** A row of a queued generation. `upstream` is set unless it needs a submit. */
export type QueuedRow = UnsubmittedGeneration & { upstream: string | null; next_step: NextStep };

/** Enqueues the next step of a queued generation. @returns whether Redis accepted the job. */
export function enqueueNextStep({ upstream, next_step: step, ...row }: QueuedRow): Promise<boolean> {
  if (step === 'dispatch' || upstream === null) return enqueueDispatch(row);
  const submitted = { ...row, upstream };
  return step === 'poll' ? enqueuePoll(submitted) : enqueueCollect(submitted);
}

/**
 * Enqueues the next step of a submitted generation that has a waiting reader, ahead of others. Deduplicated while one
 * is pending. Never rejects: resolves to false while Redis is unavailable.
 */
export function enqueueAwaited(step: 'poll' | 'collect', generation: SubmittedGeneration): Promise<boolean> {
  const name = `generation.${step}` as const;
  const item = toSubmittedItem({ ...generation, isAwaited: true });
  return enqueueBatched(
    name,
    item,
    item.uuid,
    0,
    async (generations) => {
      await getQueue(JOBS[name].queue).addBulk(
        generations.map((one) => ({
          name,
          data: parsePayload(name, { generations: [one] }),
          opts: { deduplication: { id: one.uuid }, lifo: true },
        })),
      );
    },
    'awaited',
  );
}

/** Enqueues an automatic top-up for an account below its threshold. Never rejects: the sweep retries. */
export function enqueueAutoTopup(accountId: number): Promise<boolean> {
  return enqueueBatched('autoTopups.charge', accountId, String(accountId), 0, (accountIds) =>
    enqueue('autoTopups.charge', { accountIds }),
  );
}

/** Enqueues the deliveries that are due. Never rejects: the sweep retries. */
export function enqueueWebhooks(): Promise<boolean> {
  return enqueueBatched('webhooks.deliver', null, '', 0, () => enqueue('webhooks.deliver', {}));
}

/** Has the tasks of a kind run that a commit has scheduled. Never rejects: the sweep runs them. */
export function enqueueTasks(kind: string): Promise<boolean> {
  return enqueueBatched('tasks.run', kind, kind, 0, (kinds) =>
    Promise.all([...new Set(kinds)].map((name) => enqueue('tasks.run', { kind: name }))),
  );
}

/**
 * Adds an item to the batch of its job, delay and kind.
 * @param id of the item, for the log.
 * @returns whether Redis accepted the batch.
 */
async function enqueueBatched<Item>(
  job: JobName,
  item: Item,
  id: string,
  delayMs: number,
  enqueueItems: (items: Item[]) => Promise<unknown>,
  kind = '',
): Promise<boolean> {
  const key = `${job} ${delayMs} ${kind}`;
  let batcher = batchers().get(key);
  if (batcher === undefined) {
    const batch = createBatcher<unknown, void>({
      maxItems: MAX_IDS_PER_JOB,
      maxInFlight: 1,
      run: async (items) => {
        await enqueueItems(items as Item[]);
        return [];
      },
    });
    batcher = { add: batch, pending: 0 };
    batchers().set(key, batcher);
  }
  batcher.pending += 1;
  try {
    await batcher.add(item);
    return true;
  } catch (err) {
    logger.warn({ err, job, id, delayMs }, 'enqueue failed; sweep will retry');
    return false;
  } finally {
    batcher.pending -= 1;
    if (batcher.pending === 0 && delayMs > 0) batchers().delete(key);
  }
}

/** Number of missed intervals after which a schedule counts as broken. */
const MISSED_INTERVALS_MAX = 3;

/**
 * Creates missing, changed or broken job schedules in Redis. Every worker repeats this, because an emptied Redis loses
 * its schedules.
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

/** Connects before the first job is enqueued. */
export async function openQueues(): Promise<void> {
  await waitUntilReady(getProducer());
}

export async function closeQueues(): Promise<void> {
  await Promise.allSettled([...queues().values()].map((queue) => queue.close()));
  queues().clear();
  getProducer().disconnect();
}
