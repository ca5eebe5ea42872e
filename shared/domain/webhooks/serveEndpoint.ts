import { setTimeout as delay } from 'node:timers/promises';
import { postWebhook } from '../../gateways/webhooks/postWebhook.ts';
import { now } from '../../lib/clock.ts';
import { isDraining, mayRetry } from '../../lib/drain.ts';
import { logger } from '../../lib/logger.ts';
import { webhookAttempts, webhookDelay } from '../../lib/metrics.ts';
import { WEBHOOK_CONCURRENCY, WEBHOOK_FAILING_CONCURRENCY } from '../../spec/webhookDelivery.ts';
import { type DeliveryTarget, type DueDelivery, readDueDeliveries } from './dueDeliveries.ts';
import { disableAfterFailure, failPendingDeliveries, getDisabledReason } from './disableFailing.ts';
import { type ClaimedEndpoint, releaseEndpoint } from './leases.ts';
import { recordOutcome, type SentAttempt, toOutcome } from './outcomes.ts';
import { identifyMessage, openSigningKeys, type SigningKey, signWebhook } from './signingKeys.ts';

/** An attempt after this time is slow: until it ends, the endpoint gets few further ones. */
const SLOW_MS = 1_000;
/** The default endpoint has many receivers. A slow one leaves room for the others, also as the first one. */
const SLOW_CONCURRENCY = { endpoint: 1, default: WEBHOOK_CONCURRENCY / 2 } as const;
/** Number of attempts that are in flight or not yet recorded. */
const UNRECORDED_MAX = 64;
/** Number of deliveries that are read at once. */
const PAGE_SIZE = 16;
/** After this time a page is read again before its next attempt: the owner may have changed the address or the keys. */
const PAGE_MAX_AGE_MS = 1_000;
/** An outcome that cannot be recorded is retried for as long as a lease lasts. */
const RECORD_RETRY_MS = 500;
const RECORD_TIMEOUT_MS = 30_000;

/** An endpoint that this process serves, until nothing is due. */
export interface ServedEndpoint {
  readonly lease: ClaimedEndpoint;
  readonly startedAt: number;
  /** Attempts that are in flight or not yet recorded, by delivery. */
  readonly attempts: Map<number, Attempt>;
  /** Ends the service after the attempts in flight. */
  isEnding: boolean;
  /** Reads further deliveries that may be due, if the endpoint may get them beside the attempts in flight. */
  checkForMore(): void;
}

interface Attempt {
  abort: AbortController;
  /** Undefined while it waits for a connection. */
  startedAt?: number;
  hasEnded: boolean;
}

/** Runs an attempt once the process has a connection for it. */
export type AttemptSlots = <Result>(attempt: () => Promise<Result>) => Promise<Result>;

interface Service extends ServedEndpoint {
  slots: AttemptSlots;
  /** True if further deliveries may be due. */
  mayHaveMore: boolean;
  /** Continues the service, which waits for an attempt to end. */
  wake(): void;
  queue: DueDelivery[];
  /** When the queue and the target were read. */
  readAt: number;
  target: DeliveryTarget | undefined;
  keys: SigningKey[] | undefined;
  /** Doubles with every success: an endpoint that does not respond holds one connection. */
  concurrency: number;
  /** True after an error of the service itself. The next attempt then waits for the sweep. */
  hasFailed: boolean;
  /** Resolves the wait for an attempt to end. */
  resume: (() => void) | undefined;
}

/** Starts to serve a claimed endpoint. @returns it, and a promise of whether something is due after it was released. */
export function serveEndpoint(
  lease: ClaimedEndpoint,
  slots: AttemptSlots,
): { served: ServedEndpoint; done: Promise<boolean> } {
  const service: Service = {
    lease,
    slots,
    startedAt: performance.now(),
    attempts: new Map(),
    isEnding: false,
    mayHaveMore: true,
    queue: [],
    readAt: 0,
    target: undefined,
    keys: undefined,
    concurrency: 1,
    hasFailed: false,
    resume: undefined,
    wake: () => {
      service.resume?.();
      service.resume = undefined;
    },
    checkForMore: () => {
      service.mayHaveMore = true;
      if (isEnding(service) || hasRoom(service)) service.wake();
    },
  };
  return { served: service, done: run(service) };
}

async function run(service: Service): Promise<boolean> {
  try {
    await deliverDue(service);
  } catch (err) {
    service.hasFailed = true;
    logger.warn({ err, endpointId: service.lease.id }, 'webhook deliveries not read; sweep will retry');
  }
  while (service.attempts.size > 0) await waitForWake(service);
  try {
    const isDue = await releaseEndpoint(service.lease);
    return isDue && !service.hasFailed;
  } catch (err) {
    logger.warn({ err, endpointId: service.lease.id }, 'webhook endpoint not released; its lease expires');
    return false;
  }
}

async function deliverDue(service: Service): Promise<void> {
  while (!isEnding(service)) {
    dropOldQueue(service);
    if (service.queue.length === 0 && service.mayHaveMore && hasRoom(service)) await readQueue(service);
    while (service.queue.length > 0 && hasRoom(service) && !isEnding(service)) {
      const delivery = service.queue.shift() as DueDelivery;
      void runAttempt(service, delivery);
    }
    // Read a full page, or called while the last one was read.
    if (service.queue.length === 0 && service.mayHaveMore && hasRoom(service)) continue;
    if (service.attempts.size === 0) return;
    await waitForWake(service);
  }
}

/** Removes deliveries that have waited since they were read. They are read again with the present target. */
function dropOldQueue(service: Service): void {
  if (service.queue.length === 0 || performance.now() - service.readAt < PAGE_MAX_AGE_MS) return;
  service.queue = [];
  service.mayHaveMore = true;
}

const isEnding = (service: ServedEndpoint): boolean => service.isEnding || isDraining();

function waitForWake(service: Service): Promise<void> {
  return new Promise((resolve) => (service.resume = resolve));
}

/** Returns true if the endpoint may get another attempt beside those in flight. */
function hasRoom(service: Service): boolean {
  const running = [...service.attempts.values()].filter(({ hasEnded }) => !hasEnded);
  return running.length < getConcurrency(service, running) && service.attempts.size < UNRECORDED_MAX;
}

function getConcurrency({ lease, target, concurrency }: Service, running: Attempt[]): number {
  if (lease.isFailing) return WEBHOOK_FAILING_CONCURRENCY;
  const slowConcurrency = target?.url === null ? SLOW_CONCURRENCY.default : SLOW_CONCURRENCY.endpoint;
  const slowSince = performance.now() - SLOW_MS;
  const isSlow = running.some(({ startedAt }) => startedAt !== undefined && startedAt <= slowSince);
  return isSlow ? slowConcurrency : Math.max(concurrency, slowConcurrency);
}

/** Reads the next deliveries, and the endpoint, which its owner may have changed. */
async function readQueue(service: Service): Promise<void> {
  service.mayHaveMore = false;
  service.readAt = performance.now();
  const { id, token } = service.lease;
  const limit = service.lease.isFailing ? 1 : PAGE_SIZE;
  const page = await readDueDeliveries({ id, token, limit, excluded: [...service.attempts.keys()] });
  if (page === undefined) {
    service.isEnding = true;
    return;
  }
  const { target, deliveries } = page;
  service.target = target;
  if (target.disabled_at !== null) {
    service.isEnding = true;
    await failPendingDeliveries(target);
    return;
  }
  // Takes longer than everything else that is done for an endpoint, and most pages after the first are empty.
  if (deliveries.length > 0) service.keys = openKeys(target);
  service.queue = deliveries;
  if (deliveries.length === limit) service.mayHaveMore = true;
}

function openKeys(target: DeliveryTarget): SigningKey[] | undefined {
  try {
    return openSigningKeys(target);
  } catch (err) {
    logger.error({ err, endpoint: target.uuid }, 'webhook signing keys not readable');
    return undefined;
  }
}

async function runAttempt(service: Service, delivery: DueDelivery): Promise<void> {
  const attempt: Attempt = { abort: new AbortController(), hasEnded: false };
  service.attempts.set(delivery.id, attempt);
  try {
    const sent = await service.slots(() => post(service, delivery, attempt));
    attempt.hasEnded = true;
    if (sent !== undefined) {
      applyResult(service, sent);
      service.wake();
      await record(service, delivery, sent);
    }
  } catch (err) {
    logger.error({ err, endpointId: service.lease.id }, 'webhook attempt failed; sweep will retry');
    service.isEnding = true;
    service.hasFailed = true;
  } finally {
    service.attempts.delete(delivery.id);
    service.wake();
  }
}

/** Sends the message of a delivery. @returns undefined if it was not sent, or its outcome is not known. */
async function post(service: Service, delivery: DueDelivery, attempt: Attempt): Promise<SentAttempt | undefined> {
  const { target, keys } = service;
  if (isEnding(service) || target === undefined) return undefined;
  const sentAt = now();
  if (keys === undefined)
    return { sentAt, durationMs: 0, signature: null, status: null, error: 'signing keys not readable' };
  const { body } = delivery;
  const { id, timestamp } = identifyMessage(delivery.eventUuid, sentAt);
  const signature = signWebhook(keys, { id, timestamp, body });
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature };
  const startedAt = performance.now();
  attempt.startedAt = startedAt;
  const result = await postWebhook({ url: delivery.url ?? target.url ?? '', headers, body }, attempt.abort);
  const durationMs = Math.round(performance.now() - startedAt);
  return result.error === 'aborted' ? undefined : { ...result, sentAt, durationMs, signature };
}

/** Adapts the number of concurrent attempts to a result. */
function applyResult(service: Service, { error }: SentAttempt): void {
  if (error === undefined) service.concurrency = Math.min(WEBHOOK_CONCURRENCY, service.concurrency * 2);
  // Claimed again, as a failing or a healthy endpoint. Of the default endpoint only one of many receivers failed.
  const hasChanged = service.lease.isFailing || (error !== undefined && service.target?.url !== null);
  if (hasChanged) service.isEnding = true;
}

/** Records the outcome of an attempt, through outages of the database. One that is lost is followed by another attempt. */
async function record(service: Service, delivery: DueDelivery, sent: SentAttempt): Promise<void> {
  const target = service.target as DeliveryTarget;
  const outcome = toOutcome(service.lease, delivery, sent);
  const reason = getDisabledReason(target, sent);
  const until = performance.now() + RECORD_TIMEOUT_MS;
  for (;;) {
    try {
      const isRecorded = await (reason === undefined
        ? recordOutcome(outcome)
        : disableAfterFailure(target, outcome, reason));
      // The lease or the delivery is no longer ours.
      if (!isRecorded) service.isEnding = true;
      else countOutcome(delivery, outcome.status);
      return;
    } catch (err) {
      service.isEnding = true;
      const isLast = performance.now() > until || !mayRetry();
      service.hasFailed ||= isLast;
      logger.warn({ err, endpointId: service.lease.id, isLast }, 'webhook outcome not recorded');
      if (isLast) return;
      await delay(RECORD_RETRY_MS);
    }
  }
}

function countOutcome({ attempts, recordedAt }: DueDelivery, status: 'pending' | 'succeeded' | 'failed'): void {
  webhookAttempts.inc({ outcome: status === 'pending' ? 'retried' : status });
  if (status === 'succeeded' && attempts === 0) webhookDelay.observe((now().getTime() - recordedAt.getTime()) / 1_000);
}
