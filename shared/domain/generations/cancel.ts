import { now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { enqueuePoll } from '../../queues/enqueue.ts';
import { REFRESH_INTERVAL_MS } from '../../spec/limits.ts';
import { Generation } from '../../tables/Generation.ts';
import type { Caller } from '../accounts/caller.ts';
import { ensureModelsKnown } from '../catalog/knownModels.ts';
import { cancelUnsubmitted } from './execution/completeOrFail.ts';
import { findGeneration } from './read.ts';

/**
 * Cancels a generation of the caller. One that was certainly not submitted ends at once and is refunded. For any other
 * queued one the request is recorded: the worker asks the upstream, and refunds once that confirms that the generation
 * has not run. Safe to repeat: one that has ended stays as it is.
 * @returns the generation as it is now: `queued` if the outcome is not known yet.
 * @throws ServiceError not_found if it does not exist, was deleted, or belongs to another account; otherwise
 *   invalid_api_key or account_suspended, or insufficient_scope if the key was changed meanwhile.
 */
export async function cancelGeneration(caller: Caller, uuid: string): Promise<Generation> {
  const key = { uuid, account_id: caller.accountId };
  const cancellation = await cancelUnsubmitted(key, null, caller);
  if (cancellation?.hasEnded === false) {
    const { upstream, polledAt } = cancellation;
    logger.info({ generationId: uuid, upstream }, 'cancellation requested');
    // A submit in progress is cancelled by its worker, once it is accepted.
    if (upstream !== null) void enqueuePoll({ ...key, upstream }, getPollDelayMs(polledAt));
  }
  if (cancellation === undefined) return findGeneration(caller, uuid);
  // Carried out, whatever has happened to the credential, the account and the generation since.
  const generation = await Generation.query().findOne(key).throwIfNotFound();
  await ensureModelsKnown([generation.model]);
  return generation;
}

/** Returns the time until the upstream may be polled again. */
function getPollDelayMs(polledAt: Date | null): number {
  if (polledAt === null) return 0;
  const ageMs = now().getTime() - polledAt.getTime();
  return Math.min(REFRESH_INTERVAL_MS, Math.max(0, REFRESH_INTERVAL_MS - ageMs));
}
