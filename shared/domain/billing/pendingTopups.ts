import { processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { Topup } from '../../tables/Topup.ts';
import { retryAutoTopup, chargeAutoTopup } from './autoTopups.ts';
import { tryApply, type AccountChange, nextSyncVersion } from './accountChanges.ts';
import { buildFailedTopupChange, CHECKOUT_SESSION_MS, buildPaymentChange } from './topups.ts';

const BATCH_SIZE = 200;
/** How long until a pending one is looked at again: the older, the less often. */
const RETRY_BACKOFF_MS = { min: 60_000, max: 3_600_000 };

/** Asks what became of top-ups that nobody has heard of: a charge whose end is unknown, a page that nobody paid on. */
export async function syncPendingTopups(): Promise<void> {
  // Apart: pages that nobody pays on are many, and must not keep charges from being settled.
  for (const topup of [...(await findPendingTopups('automatic')), ...(await findPendingTopups('manual'))]) {
    await tryApply(() => fetchPendingTopupChange(topup));
    const ageMs = now().getTime() - topup.created_at.getTime();
    const waitMs = Math.min(RETRY_BACKOFF_MS.max, Math.max(RETRY_BACKOFF_MS.min, ageMs / 4));
    await Topup.query()
      .findById(topup.uuid)
      .where({ status: 'pending' })
      .patch({ next_attempt_at: addMilliseconds(now(), waitMs) });
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

function fetchPendingTopupChange(topup: Topup): Promise<AccountChange | null> {
  // A payment that is simulated always succeeds, however late, and there is no page that it could wait for.
  if (processor.isSimulated) return chargeAutoTopup(topup);
  return topup.kind === 'automatic' ? retryPendingAutoTopup(topup) : fetchCheckoutTopupChange(topup);
}

async function retryPendingAutoTopup(topup: Topup): Promise<AccountChange | null> {
  await retryAutoTopup(topup);
  return null;
}

async function fetchCheckoutTopupChange(topup: Topup): Promise<AccountChange | null> {
  const syncVersion = await nextSyncVersion();
  const { stripe_session_id: sessionId } = topup;
  if (sessionId === null)
    return isTopupOlderThan(topup, CHECKOUT_SESSION_MS) ? buildFailedTopupChange(topup, 'canceled', syncVersion) : null;
  const session = await processor.readCheckoutSession(sessionId);
  const intentId = session?.intentId ?? topup.stripe_payment_intent_id;
  const payment = intentId === null ? null : await processor.readPayment(intentId);
  if (payment !== null && payment.status !== 'failed') return buildPaymentChange(payment, syncVersion);
  // As long as the page is open another card may be tried.
  return session?.isOpen === true ? null : buildFailedTopupChange(topup, 'canceled', syncVersion);
}

function isTopupOlderThan({ created_at: createdAt }: Topup, ageMs: number): boolean {
  return createdAt <= addMilliseconds(now(), -ageMs);
}
