import { processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { logger } from '../../lib/logger.ts';
import { getBackoffMs } from '../../lib/retryBackoff.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../spec/durations.ts';
import { Account } from '../../tables/Account.ts';
import { AccountDeletion } from '../../tables/AccountDeletion.ts';
import { endAllSubscriptions, resumeRenewal, stopRenewals } from '../billing/stopRenewals.ts';
import { lockAccount } from '../credits/ledger.ts';
import { getAccount } from '../accounts/accounts.ts';
import { eraseAccount } from './erase.ts';

/**
 * Carries out requested deletions of accounts, step by step. Each step can be repeated: after a crash the lease of the
 * row expires, and the next run starts the step again.
 */

/** Steps of one run. */
const STEPS_MAX = 100;
/** Longer than a step takes. An account with very many generations may take longer: two workers then share its steps. */
const LEASE_MS = 15 * MINUTE_MS;
const RETRY_BACKOFF = { minMs: 30_000, maxMs: HOUR_MS };

const CLAIM_DUE_DELETION = prepared(
  'claim_account_deletion',
  `WITH due AS (
     SELECT account_id FROM account_deletions
      WHERE next_attempt_at <= :now AND (leased_until IS NULL OR leased_until <= :now)
      ORDER BY next_attempt_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
   )
   UPDATE account_deletions d SET leased_until = :lease FROM due WHERE d.account_id = due.account_id
   RETURNING d.*`,
);

/** Runs the next step of each deletion that is due. */
export async function runAccountDeletions(): Promise<void> {
  for (let steps = 0; steps < STEPS_MAX; steps += 1) {
    // One at a time, so that a lease covers its own step only.
    const at = now();
    const bindings = { now: at, lease: addMilliseconds(at, LEASE_MS) };
    const [deletion] = await runStatement<AccountDeletion>(CLAIM_DUE_DELETION, bindings);
    if (deletion === undefined) return;
    await runStep(deletion);
  }
}

async function runStep(deletion: AccountDeletion): Promise<void> {
  const { account_id: accountId, attempts, status } = deletion;
  try {
    if (status === 'undone') await resume(deletion);
    else if (status === 'pending' && deletion.erase_at > now()) await prepare(deletion);
    else if (status === 'erasing') await erase(deletion);
    else await continueDue(deletion);
  } catch (err) {
    const waitMs = getBackoffMs(attempts, RETRY_BACKOFF);
    logger.warn({ err, accountId, status, attempts: attempts + 1 }, 'account deletion step failed; sweep will retry');
    await release(deletion, {
      attempts: attempts + 1,
      last_error: (err as Error).message.slice(0, 500),
      next_attempt_at: addMilliseconds(now(), waitMs),
    });
  }
}

/** Stops payments, and waits until the account is to be erased. Repeated each day, as another may have begun since. */
async function prepare(deletion: AccountDeletion): Promise<void> {
  await stopRenewals(deletion.account_id);
  const tomorrow = addMilliseconds(now(), DAY_MS);
  const next = deletion.erase_at < tomorrow ? deletion.erase_at : tomorrow;
  await release(deletion, { attempts: 0, last_error: null, next_attempt_at: next });
}

/** Resumes the subscription after an undo. */
async function resume(deletion: AccountDeletion): Promise<void> {
  if (deletion.subscription_id !== null) await resumeRenewal(deletion.subscription_id);
  const { account_id: accountId, version } = deletion;
  const deleted = await AccountDeletion.query().findById(accountId).where({ version }).delete();
  if (deleted === 0) await release(deletion, {});
}

/** Erases an account whose time is over. A suspended one is kept: its owner cannot undo, and staff may need the data. */
async function continueDue(deletion: AccountDeletion): Promise<void> {
  const outcome = await beginErasure(deletion);
  if (outcome === 'begun') await erase(deletion);
  else await release(deletion, outcome === 'suspended' ? { next_attempt_at: addMilliseconds(now(), DAY_MS) } : {});
}

/** Makes a deletion final, unless it was undone since it was read. From then on it cannot be undone. */
async function beginErasure({
  account_id: accountId,
  version,
}: AccountDeletion): Promise<'begun' | 'changed' | 'suspended'> {
  return Account.transaction(async (transaction) => {
    const account = await lockAccount(transaction, accountId);
    if (account.suspended_at !== null) return 'suspended';
    const begun = await AccountDeletion.query(transaction)
      .findById(accountId)
      .where({ version, status: 'pending' })
      .where('erase_at', '<=', now())
      .patch({ status: 'erasing' });
    return begun === 1 ? 'begun' : 'changed';
  });
}

/** Ends subscriptions, erases the data here and then at the processor. The row is deleted last. */
async function erase({ account_id: accountId }: AccountDeletion): Promise<void> {
  await endAllSubscriptions(accountId);
  await eraseAccount(accountId);
  const { stripe_customer_id: customerId } = await getAccount(accountId);
  if (customerId !== null) await processor.deleteCustomer(customerId);
  await AccountDeletion.query().deleteById(accountId);
  logger.info({ accountId }, 'account deletion completed');
}

const RELEASE_DELETION = prepared(
  'release_account_deletion',
  `UPDATE account_deletions SET leased_until = NULL
    WHERE account_id = :accountId AND leased_until = :lease AND version <> :version`,
);

/** Ends the lease of a row. A request or an undo since it was read has set the time of the next step: it stays. */
async function release(deletion: AccountDeletion, result: Partial<AccountDeletion>): Promise<void> {
  const { account_id: accountId, version, leased_until: lease } = deletion;
  const isUnchanged = await AccountDeletion.query()
    .findById(accountId)
    .where({ version, leased_until: lease })
    .patch({ ...result, leased_until: null });
  if (isUnchanged === 0) await runStatement(RELEASE_DELETION, { accountId, lease, version });
}
