import { processor } from '../../gateways/payments/index.ts';
import { getNextAttemptByAge } from '../../lib/retryBackoff.ts';
import { HOUR_MS, MINUTE_MS } from '../../spec/durations.ts';
import { Topup } from '../../tables/Topup.ts';
import { applySnapshot } from '../payments/accountSnapshot.ts';
import type { Task, TaskKind } from '../tasks/taskKind.ts';
import { chargeAutoTopup, retryAutoTopup } from './autoTopups.ts';
import { PENDING_TOPUP_KINDS, PROCESSOR_TASK } from './processorTasks.ts';
import { fetchCheckoutTopup } from './syncPurchases.ts';

const BACKOFF = { minMs: MINUTE_MS, maxMs: HOUR_MS };

/**
 * Syncs top-ups without a known outcome, whose uuid is the key: charges that were interrupted, and pages that nothing
 * was paid on. The kinds are apart, as the many unpaid pages must not delay charges.
 */
export const SYNC_PENDING_TOPUPS: readonly TaskKind[] = (['automatic', 'manual'] as const).map((kind) => ({
  ...PROCESSOR_TASK,
  name: PENDING_TOPUP_KINDS[kind],
  backoff: BACKOFF,
  waiting: `SELECT account_id, cast(uuid AS text) AS key FROM topups WHERE status = 'pending' AND kind = '${kind}'`,
  run: ([task]) => syncPendingTopup(task),
}));

async function syncPendingTopup({ key }: Task) {
  const topup = await findPending(key);
  if (topup === undefined) return undefined;
  // A simulated payment always succeeds, however late, and has no page to wait for.
  if (processor.isSimulated) await applySnapshot(await chargeAutoTopup(topup));
  else if (topup.kind === 'automatic') await retryAutoTopup(topup);
  else await applySnapshot(await fetchCheckoutTopup(topup));
  const isPending = (await findPending(key)) !== undefined;
  return isPending ? { runAt: getNextAttemptByAge(topup.created_at, BACKOFF) } : undefined;
}

const findPending = (uuid: string) => Topup.query().findOne({ uuid, status: 'pending' });
