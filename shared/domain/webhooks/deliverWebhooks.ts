import { setTimeout as delay } from 'node:timers/promises';
import { postWebhook } from '../../gateways/webhooks/postWebhook.ts';
import { createBatcher } from '../../lib/batcher.ts';
import { now } from '../../lib/clock.ts';
import { isRejection } from '../../lib/database/errors.ts';
import { isDraining, mayRetry, onDraining, trackInFlight } from '../../lib/drain.ts';
import { logger } from '../../lib/logger.ts';
import { webhookAttempts, webhookAttemptsInFlight, webhookDelay } from '../../lib/metrics.ts';
import { perService } from '../../lib/serviceScope.ts';
import { WEBHOOK_CONCURRENCY } from '../../spec/webhookDelivery.ts';
import { disableAfterFailure, getDisabledReason } from './disableFailing.ts';
import { type SentAttempt, toOutcome } from './outcomes.ts';
import {
  type ClaimLimits,
  type DeliveryOutcome,
  type LeasedDelivery,
  recordAndClaim,
  releaseDelivery,
} from './recordAndClaim.ts';
import { identifyMessage, openSigningKeys, type SigningKey, signWebhook } from './signingKeys.ts';

/** Number of attempts in flight of this process. */
const ATTEMPTS_MAX = 2_048;
/** Number of attempts of endpoints that fail, which may hang: half of the connections stay free for others. */
const FAILING_ATTEMPTS_MAX = ATTEMPTS_MAX / 2;
/** Time for attempts in flight when the process shuts down. Their deliveries are repeated by another one. */
const DRAIN_ATTEMPTS_MS = 5_000;
/** An outcome that cannot be recorded is retried for as long as a lease lasts. */
const RECORD_RETRY_MS = 500;
const RECORD_TIMEOUT_MS = 30_000;

/** Attempts in flight of this process. */
const inFlight = perService(() => {
  const attempts = new Map<LeasedDelivery, AbortController>();
  const abortAll = (): void => attempts.forEach((abort) => abort.abort());
  onDraining(() => void setTimeout(abortAll, DRAIN_ATTEMPTS_MS).unref());
  return { attempts, failing: 0 };
});

/**
 * Starts attempts of all deliveries that are due, as far as their endpoints and this process have room. Resolves when nothing
 * more can be leased, without waiting for the attempts. Calls while it claims share the next pass.
 */
export async function deliverWebhooks(): Promise<void> {
  await claimForCall(null);
}

const claimForCall = createBatcher<null, void>({
  maxItems: Number.MAX_SAFE_INTEGER,
  maxInFlight: 1,
  run: async () => {
    await claimDue();
    return [];
  },
});

async function claimDue(): Promise<void> {
  for (;;) {
    const limits = getLimits();
    if (limits.healthy + limits.failing === 0) return;
    const { leased, wasDue } = await recordAndClaim([], limits);
    startAttempts(leased);
    if (!wasDue) return;
  }
}

/** Returns the number of endpoints that this process has room for. Each may take as many attempts as an endpoint gets. */
function getLimits(): ClaimLimits {
  if (isDraining()) return { healthy: 0, failing: 0 };
  const { attempts, failing } = inFlight();
  const room = Math.max(0, Math.floor((ATTEMPTS_MAX - attempts.size) / WEBHOOK_CONCURRENCY));
  return { healthy: room, failing: Math.max(0, Math.min(room, FAILING_ATTEMPTS_MAX - failing)) };
}

function startAttempts(deliveries: readonly LeasedDelivery[]): void {
  // Opening keys takes longer than signing with them.
  const opened = new Map<number, SigningKey[] | undefined>();
  for (const delivery of deliveries) {
    const { endpoint_id: endpointId } = delivery;
    if (!opened.has(endpointId)) opened.set(endpointId, openKeys(delivery));
    trackInFlight(attempt(delivery, opened.get(endpointId)));
  }
}

function openKeys({ endpoint_uuid: uuid, ...keys }: LeasedDelivery): SigningKey[] | undefined {
  try {
    return openSigningKeys({ uuid, ...keys });
  } catch (err) {
    logger.error({ err, endpoint: uuid }, 'webhook signing keys not readable');
    return undefined;
  }
}

async function attempt(delivery: LeasedDelivery, keys: SigningKey[] | undefined): Promise<void> {
  try {
    const sent = await sendCounted(delivery, keys);
    if (sent === undefined) await releaseDelivery(delivery);
    else await record(delivery, sent);
  } catch (err) {
    logger.error({ err, endpointId: delivery.endpoint_id }, 'webhook attempt failed; its lease expires');
  }
}

async function sendCounted(delivery: LeasedDelivery, keys: SigningKey[] | undefined): Promise<SentAttempt | undefined> {
  const state = inFlight();
  const failing = delivery.failing_since === null ? 0 : 1;
  const abort = new AbortController();
  const change = (count: 1 | -1): void => {
    state.failing += count * failing;
    webhookAttemptsInFlight.set(state.attempts.size);
  };
  state.attempts.set(delivery, abort);
  change(1);
  try {
    return await send(delivery, keys, abort);
  } finally {
    state.attempts.delete(delivery);
    change(-1);
  }
}

/** Sends the message of a delivery. @returns undefined if it was not sent, or its outcome is not known. */
async function send(
  delivery: LeasedDelivery,
  keys: SigningKey[] | undefined,
  abort: AbortController,
): Promise<SentAttempt | undefined> {
  if (isDraining()) return undefined;
  const sentAt = now();
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

/** Records the outcome of an attempt, through outages of the database. One that is lost is followed by another attempt. */
async function record(delivery: LeasedDelivery, sent: SentAttempt): Promise<void> {
  const outcome = toOutcome(delivery, sent);
  const reason = getDisabledReason(delivery, sent);
  const until = performance.now() + RECORD_TIMEOUT_MS;
  for (;;) {
    try {
      const isRecorded = await (reason === undefined
        ? recordOutcome(outcome)
        : disableAfterFailure(delivery, outcome, reason));
      if (isRecorded) countOutcome(delivery, outcome.status);
      return;
    } catch (err) {
      const isLast = performance.now() > until || !mayRetry();
      logger.warn({ err, endpointId: delivery.endpoint_id, isLast }, 'webhook outcome not recorded');
      if (isLast) return;
      await delay(RECORD_RETRY_MS);
    }
  }
}

/** Records an outcome, together with others, and starts what may follow. @returns false if its lease was lost. */
const recordOutcome = createBatcher<DeliveryOutcome, boolean>({
  maxItems: 128,
  maxInFlight: 2,
  // An endpoint that another transaction keeps locked delays one batch, not all.
  getKey: ({ endpoint_id: endpointId }) => endpointId,
  keysShareBatch: true,
  isItemError: isRejection,
  run: async (outcomes) => {
    const { recorded, leased } = await recordAndClaim(outcomes, getLimits());
    startAttempts(leased);
    return outcomes.map(({ id }) => recorded.has(id));
  },
});

function countOutcome({ attempts, recorded_at: recordedAt }: LeasedDelivery, status: DeliveryOutcome['status']): void {
  webhookAttempts.inc({ outcome: status === 'pending' ? 'retried' : status });
  if (status === 'succeeded' && attempts === 0) webhookDelay.observe((now().getTime() - recordedAt.getTime()) / 1_000);
}
