import { processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { DAY_MS, HOUR_MS } from '../../spec/durations.ts';
import { AccountDeletion } from '../../tables/AccountDeletion.ts';
import { endAllSubscriptions, resumeRenewal, stopRenewals, syncOpenSubscriptions } from '../billing/stopRenewals.ts';
import { withAccountLock } from '../credits/ledger.ts';
import { getAccount } from '../accounts/accounts.ts';
import type { Postponement, TaskKind } from '../tasks/taskKind.ts';
import { DELETE_ACCOUNT_KIND } from './deletion.ts';
import { eraseAccount } from './erase.ts';

/**
 * Carries out the next step of the requested deletion of an account, whose id is the key. Each step can be repeated.
 */
export const DELETE_ACCOUNT: TaskKind = {
  name: DELETE_ACCOUNT_KIND,
  backoff: { minMs: 30_000, maxMs: HOUR_MS },
  // The erasure of a large account takes long, and others must not wait for it.
  concurrency: 4,
  waiting: 'SELECT account_id, cast(account_id AS text) AS key FROM account_deletions',
  run: async ([{ key }]) => {
    const deletion = await AccountDeletion.query().findById(Number(key));
    if (deletion === undefined) return undefined;
    if (deletion.status === 'undone') return resume(deletion);
    if (deletion.status === 'erasing') return erase(deletion);
    return deletion.erase_at > now() ? prepare(deletion) : continueDue(deletion);
  },
};

/** Stops payments, and waits until the account is to be erased. Repeated each day, as another may have begun since. */
async function prepare({
  account_id: accountId,
  erase_at: eraseAt,
  subscription_id: subscriptionId,
}: AccountDeletion): Promise<Postponement> {
  await stopRenewals(accountId);
  // An undo schedules its step at once, which may have resumed the subscription before it was stopped here.
  const current = await AccountDeletion.query().findById(accountId);
  const isUndone = current === undefined || current.status === 'undone';
  if (isUndone && subscriptionId !== null) await resumeRenewal(subscriptionId);
  const tomorrow = addMilliseconds(now(), DAY_MS);
  return { runAt: eraseAt < tomorrow ? eraseAt : tomorrow };
}

/**
 * Resumes the subscription after an undo, or syncs what was not stopped, as its renewal may have been held for a
 * dispute that has ended. A request since then, and its own undo, have scheduled another run.
 */
async function resume({
  account_id: accountId,
  subscription_id: subscriptionId,
  requested_at: requestedAt,
}: AccountDeletion) {
  await (subscriptionId === null ? syncOpenSubscriptions(accountId) : resumeRenewal(subscriptionId));
  await AccountDeletion.query().findById(accountId).where({ status: 'undone', requested_at: requestedAt }).delete();
  return undefined;
}

/**
 * Erases an account whose time is over. A suspended one is kept: its owner cannot undo, and staff may need the data.
 */
async function continueDue(deletion: AccountDeletion): Promise<Postponement | undefined> {
  const outcome = await beginErasure(deletion);
  if (outcome === 'suspended') return { runAt: addMilliseconds(now(), DAY_MS) };
  // A change has scheduled its next step.
  return outcome === 'begun' ? erase(deletion) : undefined;
}

/** Makes a deletion final, unless it was undone since it was read. From then on it cannot be undone. */
async function beginErasure({ account_id: accountId }: AccountDeletion): Promise<'begun' | 'changed' | 'suspended'> {
  return withAccountLock(accountId, async (transaction, account) => {
    if (account.suspended_at !== null) return 'suspended';
    const begun = await AccountDeletion.query(transaction)
      .findById(accountId)
      .where({ status: 'pending' })
      .where('erase_at', '<=', now())
      .patch({ status: 'erasing' });
    return begun === 1 ? 'begun' : 'changed';
  });
}

/** Ends subscriptions, erases the data here and then at the processor. The row is deleted last. */
async function erase({ account_id: accountId }: AccountDeletion): Promise<undefined> {
  await endAllSubscriptions(accountId);
  await eraseAccount(accountId);
  const { stripe_customer_id: customerId } = await getAccount(accountId);
  if (customerId !== null) await processor.deleteCustomer(customerId);
  await AccountDeletion.query().deleteById(accountId);
  logger.info({ accountId }, 'account deletion completed');
}
