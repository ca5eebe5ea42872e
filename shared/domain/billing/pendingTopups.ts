import { processor } from '../../gateways/payments/index.ts';
import { now } from '../../lib/clock.ts';
import { getNextAttemptByAge } from '../../lib/retryBackoff.ts';
import { Topup } from '../../tables/Topup.ts';
import { trySync } from '../payments/processorErrors.ts';
import { chargeAutoTopup, retryAutoTopup } from './autoTopups.ts';
import { fetchCheckoutTopup } from './syncPurchases.ts';
import { settleTopup } from './topupPayments.ts';
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
