import { processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { getNextAttemptByAge } from '../../lib/retryBackoff.ts';
import { Topup } from '../../tables/Topup.ts';
import { trySync } from '../payments/processorErrors.ts';
import { nextSyncVersion } from '../payments/syncVersion.ts';
import { chargeAutoTopup, retryAutoTopup } from './autoTopups.ts';
import { buildFailedTopup, findTopupSnapshot, settleTopup, type TopupSnapshot } from './topupPayments.ts';
import { CHECKOUT_SESSION_MS } from './topups.ts';
import { HOUR_MS, MINUTE_MS } from '../../spec/durations.ts';

const BATCH_SIZE = 200;
const RETRY_BACKOFF = { minMs: MINUTE_MS, maxMs: HOUR_MS };

/** Syncs top-ups without a known outcome: charges that were interrupted, and checkout pages that nothing was paid on. */
export async function syncPendingTopups(): Promise<void> {
  // Two batches: the many unpaid pages must not delay charges.
  for (const topup of [...(await findPendingTopups('automatic')), ...(await findPendingTopups('manual'))]) {
    await trySync(() => syncPendingTopup(topup));
    await Topup.query()
      .findById(topup.uuid)
      .where({ status: 'pending' })
      .patch({ next_attempt_at: getNextAttemptByAge(topup.created_at, RETRY_BACKOFF) });
  }
}

function findPendingTopups(kind: Topup['kind']): Promise<Topup[]> {
  return Topup.query()
    .where({ status: 'pending', kind })
    .where('next_attempt_at', '<=', now())
    .orderBy('next_attempt_at')
    .limit(BATCH_SIZE)
    .execute();
}

async function syncPendingTopup(topup: Topup): Promise<void> {
  // A simulated payment always succeeds, however late, and has no page to wait for.
  if (processor.isSimulated) await settleTopup(await chargeAutoTopup(topup));
  else if (topup.kind === 'automatic') await retryAutoTopup(topup);
  else await settleTopup(await fetchCheckoutTopup(topup));
}

async function fetchCheckoutTopup(topup: Topup): Promise<TopupSnapshot | null> {
  const syncVersion = await nextSyncVersion();
  const { stripe_session_id: sessionId, created_at: createdAt } = topup;
  if (sessionId === null) {
    const isExpired = createdAt <= addMilliseconds(now(), -CHECKOUT_SESSION_MS);
    return isExpired ? buildFailedTopup(topup, 'canceled', syncVersion) : null;
  }
  const session = await processor.readCheckoutSession(sessionId);
  const intentId = session?.intentId ?? topup.stripe_payment_intent_id;
  const payment = intentId === null ? null : await processor.readPayment(intentId);
  if (payment !== null && payment.status !== 'failed') return findTopupSnapshot(payment, syncVersion);
  if (session?.isFree === true) return buildFailedTopup(topup, 'nothing_paid', syncVersion);
  // While the page is open, another card may be tried.
  return session?.isOpen === true ? null : buildFailedTopup(topup, 'canceled', syncVersion);
}
