import { now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { Generation } from '../../tables/Generation.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { syncOpenSubscriptions } from '../billing/stopRenewals.ts';
import { mapProcessorErrors } from '../payments/processorErrors.ts';
import { findTestAccountId } from '../accounts/testAccounts.ts';
import { type Actor, recordAuditEntry } from '../audit/recordAuditEntry.ts';
import { withAccountLock } from '../credits/ledger.ts';
import { ERASURES } from '../features.ts';

/** Result of an erasure. */
export interface ErasureResult {
  /** Number of generations that this run deleted. A run that continues an interrupted one deletes the rest. */
  generations: number;
}

/**
 * Erases the personal data of an account: its access, sign-in methods, security log, webhooks, messages, profile,
 * prompts, media and the copies of payment events. The row stays under an unusable address, with the ledger, payments
 * and commissions that accounting requires. Its test account is erased first. It can be repeated: the next run
 * continues an interrupted one.
 * @param actor staff who erase it.
 * @throws ServiceError validation_error while a subscription would renew, or generations are in progress.
 */
export async function eraseAccount(accountId: number, actor?: Actor): Promise<ErasureResult> {
  // A renewal may have begun without an event.
  await mapProcessorErrors(syncOpenSubscriptions(accountId));
  await assertErasable(await Account.query().findById(accountId).throwIfNotFound());
  const testAccountId = await findTestAccountId(accountId);
  if (testAccountId !== null) await eraseAccount(testAccountId);
  for (const { before } of ERASURES) await before?.(accountId);
  const account = await withAccountLock(accountId, async (transaction, locked) => {
    await assertErasable(locked);
    const isFirstRun = locked.erased_at === null;
    locked.deletion_requested_at ??= now();
    for (const { inTransaction } of ERASURES) await inTransaction?.(transaction, locked);
    // Last, as it waits for transactions that lock events of the account, and then read the account.
    await locked.$query(transaction).patch({
      email: `erased-${locked.uuid}@erased.invalid`,
      first_name: '',
      language: 'en',
      use_case: '',
      social_provider: 'erased',
      auto_topup_enabled: false,
      deletion_requested_at: locked.deletion_requested_at,
      erased_at: locked.erased_at ?? now(),
      webhook_count: 0,
      spending_limit_count: 0,
      credits_low_threshold: null,
      credits_low_since: null,
      email_settings: {},
    });
    // A run that continues an interrupted one is the same action.
    if (isFirstRun && actor !== undefined) {
      await recordAuditEntry(transaction, actor, {
        action: 'account.erase',
        accountId,
        targetId: locked.uuid,
        before: { erased: false },
        after: { erased: true },
      });
    }
    return locked;
  });
  const generations = await Generation.query().where({ account_id: accountId }).whereNull('deleted_at').resultSize();
  for (const { after } of ERASURES) await after?.(account);
  logger.info({ accountId, generations }, 'account erased');
  return { generations };
}

/** @throws ServiceError validation_error with the steps that are required first. */
export async function assertErasable(account: Account): Promise<void> {
  const renewing = await Subscription.query()
    .where({ account_id: account.id })
    .where((open) => void open.where({ cancel_at_period_end: false }).orWhere('paid_until', '<=', now()))
    // Simulated subscriptions do not renew.
    .whereNotNull('stripe_subscription_id')
    // A suspended subscription renews, too, after its dispute is won.
    .whereIn('status', ['active', 'past_due', 'unpaid', 'incomplete'])
    .first();
  if (renewing !== undefined) {
    throw new ServiceError(
      'validation_error',
      `The account has a paid subscription (${renewing.plan_slug}, ${renewing.status}). Cancel it first, in the billing portal or at Stripe.`,
    );
  }
  if (account.in_flight === 0) return;
  throw new ServiceError(
    'validation_error',
    `${account.in_flight} generations are in progress. Try again once they have ended.`,
  );
}
