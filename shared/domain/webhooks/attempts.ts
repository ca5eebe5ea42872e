import { postWebhook } from '../../gateways/webhooks/postWebhook.ts';
import { now } from '../../lib/clock.ts';
import { isDraining, onDraining, trackInFlight } from '../../lib/drain.ts';
import { logger } from '../../lib/logger.ts';
import { webhookAttemptsInFlight } from '../../lib/metrics.ts';
import { perService } from '../../lib/serviceScope.ts';
import { WEBHOOK_ATTEMPT_TIMEOUT_MS } from '../../spec/webhookDelivery.ts';
import type { SentAttempt } from './outcomes.ts';
import type { LeasedDelivery } from './recordAndClaim.ts';
import { identifyMessage, openSigningKeys, type SigningKey, signWebhook } from './signingKeys.ts';

/** Time for attempts in flight when the process shuts down. Their deliveries are repeated by another one. */
const DRAIN_ATTEMPTS_MS = 5_000;
/**
 * After this time a delivery that was leased in advance is released: its endpoint may have other keys, or another
 * address.
 */
const WAIT_MAX_MS = 500;
/** No attempt starts that could still be in flight shortly before its lease ends. */
const LEASE_LEFT_MIN_MS = WEBHOOK_ATTEMPT_TIMEOUT_MS + 5_000;

/** Deliveries of an endpoint that this process has leased. */
interface Endpoint {
  id: number;
  /** Number of attempts in flight at a time. */
  allowed: number;
  inFlight: number;
  /** Deliveries that were leased in advance, oldest first. */
  waiting: WaitingDelivery[];
}

interface WaitingDelivery {
  delivery: LeasedDelivery;
  /** Undefined: they cannot be read. */
  keys: SigningKey[] | undefined;
  end: AttemptEnd;
}

/**
 * Called when a delivery is no longer in flight or waiting. After an error of the process it is not: the lease expires.
 * @param sent undefined if it was not sent, or its outcome is not known.
 */
export type AttemptEnd = (delivery: LeasedDelivery, sent: SentAttempt | undefined) => void;

/** Attempts of this process. */
const state = perService(() => {
  const endpoints = new Map<number, Endpoint>();
  const inFlight = new Set<AbortController>();
  const abortAll = (): void => inFlight.forEach((abort) => abort.abort());
  onDraining(() => {
    for (const endpoint of endpoints.values()) release(endpoint, endpoint.waiting);
    setTimeout(abortAll, DRAIN_ATTEMPTS_MS).unref();
  });
  return { endpoints, inFlight, failing: 0 };
});

/** Returns the numbers of attempts in flight: all, and those of endpoints that fail. */
export function countAttempts(): { all: number; failing: number } {
  const { inFlight, failing } = state();
  return { all: inFlight.size, failing };
}

/** Starts attempts of deliveries, each as soon as its endpoint has room, or gives them up. */
export function attemptDeliveries(deliveries: readonly LeasedDelivery[], end: AttemptEnd): void {
  const added = new Map<Endpoint, WaitingDelivery[]>();
  for (const delivery of deliveries) {
    const endpoint = findEndpoint(delivery.endpoint_id);
    const others = added.get(endpoint) ?? [];
    // Opening keys takes longer than signing with them.
    const keys = others[0] === undefined ? openKeys(delivery) : others[0].keys;
    added.set(endpoint, [...others, { delivery, keys, end }]);
    endpoint.allowed = delivery.allowed;
  }
  for (const [endpoint, some] of added) {
    endpoint.waiting.push(...some);
    startWaiting(endpoint);
    if (endpoint.waiting.length > 0) setTimeout(() => release(endpoint, some), WAIT_MAX_MS);
  }
}

function findEndpoint(id: number): Endpoint {
  const { endpoints } = state();
  const endpoint = endpoints.get(id) ?? { id, allowed: 0, inFlight: 0, waiting: [] };
  endpoints.set(id, endpoint);
  return endpoint;
}

function openKeys({ endpoint_uuid: uuid, ...keys }: LeasedDelivery): SigningKey[] | undefined {
  try {
    return openSigningKeys({ uuid, ...keys });
  } catch (err) {
    logger.error({ err, endpoint: uuid }, 'webhook signing keys not readable');
    return undefined;
  }
}

function startWaiting(endpoint: Endpoint): void {
  while (endpoint.inFlight < endpoint.allowed) {
    const next = endpoint.waiting.shift();
    if (next === undefined) break;
    trackInFlight(attempt(endpoint, next));
  }
  if (endpoint.inFlight === 0) state().endpoints.delete(endpoint.id);
}

/** Gives up those of some deliveries that still wait. */
function release(endpoint: Endpoint, some: readonly WaitingDelivery[]): void {
  const released = endpoint.waiting.filter((waiting) => some.includes(waiting));
  endpoint.waiting = endpoint.waiting.filter((waiting) => !some.includes(waiting));
  for (const { delivery, end } of released) end(delivery, undefined);
}

async function attempt(endpoint: Endpoint, { delivery, keys, end }: WaitingDelivery): Promise<void> {
  try {
    const sent = await sendCounted(endpoint, delivery, keys);
    // A failing endpoint gets one attempt at a time. The default endpoint has many receivers.
    if (sent?.error !== undefined && delivery.endpoint_url !== null) release(endpoint, endpoint.waiting);
    end(delivery, sent);
  } catch (err) {
    logger.error({ err, endpointId: endpoint.id }, 'webhook attempt failed; its lease expires');
  }
  startWaiting(endpoint);
}

async function sendCounted(
  endpoint: Endpoint,
  delivery: LeasedDelivery,
  keys: SigningKey[] | undefined,
): Promise<SentAttempt | undefined> {
  const attempts = state();
  const failing = delivery.failing_since === null ? 0 : 1;
  const abort = new AbortController();
  const change = (count: 1 | -1): void => {
    endpoint.inFlight += count;
    attempts.failing += count * failing;
    webhookAttemptsInFlight.set(attempts.inFlight.size);
  };
  attempts.inFlight.add(abort);
  change(1);
  try {
    return await send(delivery, keys, abort);
  } finally {
    attempts.inFlight.delete(abort);
    change(-1);
  }
}

async function send(
  delivery: LeasedDelivery,
  keys: SigningKey[] | undefined,
  abort: AbortController,
): Promise<SentAttempt | undefined> {
  const sentAt = now();
  if (isDraining() || delivery.leased_until.getTime() - sentAt.getTime() < LEASE_LEFT_MIN_MS) return undefined;
  if (keys === undefined)
    return { sentAt, durationMs: 0, signature: null, status: null, error: 'signing keys not readable' };
  const { body } = delivery;
  const { id, timestamp } = identifyMessage(delivery.event_uuid, sentAt);
  const signature = signWebhook(keys, { id, timestamp, body });
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature };
  const startedAt = performance.now();
  const result = await postWebhook({ url: delivery.url ?? delivery.endpoint_url ?? '', headers, body }, abort);
  const durationMs = Math.round(performance.now() - startedAt);
  return result.error === 'aborted' ? undefined : { ...result, sentAt, durationMs, signature };
}
