import { setTimeout as delay } from 'node:timers/promises';
import { createBatcher } from '../../lib/batcher.ts';
import { now } from '../../lib/clock.ts';
import { isRejection } from '../../lib/database/errors.ts';
import { isDraining, mayRetry, trackInFlight } from '../../lib/drain.ts';
import { logger } from '../../lib/logger.ts';
import { webhookAttempts, webhookDelay } from '../../lib/metrics.ts';
import { WEBHOOK_CONCURRENCY } from '../../spec/webhookDelivery.ts';
import { type AttemptEnd, attemptDeliveries, countAttempts } from './attempts.ts';
import { disableAfterFailure, getDisabledReason } from './disableFailing.ts';
import { type SentAttempt, toOutcome } from './outcomes.ts';
import {
  type ClaimLimits,
  type DeliveryOutcome,
  type LeasedDelivery,
  type ReleasedDelivery,
  recordAndClaim,
} from './recordAndClaim.ts';

/** Number of attempts in flight of this process. */
const ATTEMPTS_MAX = 2_048;
/** Number of attempts of endpoints that fail, which may hang: half of the connections stay free for others. */
const FAILING_ATTEMPTS_MAX = ATTEMPTS_MAX / 2;
/** An outcome that cannot be recorded is retried for as long as a lease lasts. */
const RECORD_RETRY_MS = 500;
const RECORD_TIMEOUT_MS = 30_000;

/**
 * Starts attempts of all deliveries that are due, as far as their endpoints and this process have room. Resolves when
 * nothing more can be leased, without waiting for the attempts. Calls while it claims share the next pass.
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
    const { leased, mayHaveMore } = await recordAndClaim([], limits);
    attemptDeliveries(leased, endAttempt);
    if (!mayHaveMore) return;
  }
}

/**
 * Returns the number of endpoints that this process has room for. Each may take as many attempts as an endpoint gets;
 * what is leased in advance starts when others have ended, and takes no more. Once half of all attempts are in flight,
 * an endpoint gets one at a time, so that slow receivers of few accounts leave room for others.
 */
function getLimits(): ClaimLimits {
  const { all, failing } = countAttempts();
  const [max, concurrency] = all < ATTEMPTS_MAX / 2 ? [ATTEMPTS_MAX / 2, WEBHOOK_CONCURRENCY] : [ATTEMPTS_MAX, 1];
  const room = isDraining() ? 0 : Math.max(0, Math.ceil((max - all) / concurrency));
  return { healthy: room, failing: Math.max(0, Math.min(room, FAILING_ATTEMPTS_MAX - failing)), concurrency };
}

const endAttempt: AttemptEnd = (delivery, sent) => {
  trackInFlight(sent === undefined ? release(delivery) : record(delivery, sent));
};

/** Ends the lease of a delivery that is not attempted now: it is leased again as soon as its endpoint has room. */
async function release({ id, endpoint_id, leased_until }: LeasedDelivery): Promise<void> {
  try {
    await endLease({ id, endpoint_id, leased_until, attempt: null });
  } catch (err) {
    logger.warn({ err, endpointId: endpoint_id }, 'webhook delivery not released; its lease expires');
  }
}

/**
 * Records the outcome of an attempt, through outages of the database. One that is lost is followed by another attempt.
 */
async function record(delivery: LeasedDelivery, sent: SentAttempt): Promise<void> {
  const outcome = toOutcome(delivery, sent);
  const reason = getDisabledReason(delivery, sent);
  const until = performance.now() + RECORD_TIMEOUT_MS;
  for (;;) {
    try {
      const isRecorded = await (reason === undefined
        ? endLease(outcome)
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

/**
 * Ends a lease, together with others, with an outcome if there was an attempt, and starts what may follow.
 * @returns false if the lease was lost.
 */
const endLease = createBatcher<DeliveryOutcome | ReleasedDelivery, boolean>({
  maxItems: 128,
  maxInFlight: 2,
  // An endpoint that another transaction keeps locked delays one batch, not all.
  getKey: ({ endpoint_id: endpointId }) => endpointId,
  keysShareBatch: true,
  isItemError: isRejection,
  run: async (ends) => {
    const { recorded, leased } = await recordAndClaim(ends, getLimits());
    attemptDeliveries(leased, endAttempt);
    return ends.map(({ id }) => recorded.has(id));
  },
});

function countOutcome({ attempts, recorded_at: recordedAt }: LeasedDelivery, status: DeliveryOutcome['status']): void {
  webhookAttempts.inc({ outcome: status === 'pending' ? 'retried' : status });
  if (status === 'succeeded' && attempts === 0) webhookDelay.observe((now().getTime() - recordedAt.getTime()) / 1_000);
}
