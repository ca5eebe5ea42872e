import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { prepared } from '../../lib/database/preparedStatements.ts';
import { runInBatches, STATEMENT_BATCH_SIZE } from '../../lib/database/runInBatches.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { Affiliate } from '../../tables/Affiliate.ts';
import { ApiKey } from '../../tables/ApiKey.ts';
import { Email } from '../../tables/Email.ts';
import { Generation } from '../../tables/Generation.ts';
import { IdempotentRequest } from '../../tables/IdempotentRequest.ts';
import { Invoice } from '../../tables/Invoice.ts';
import { Identity } from '../../tables/Identity.ts';
import { OutboxEvent } from '../../tables/OutboxEvent.ts';
import { Referral } from '../../tables/Referral.ts';
import { SecurityEvent } from '../../tables/SecurityEvent.ts';
import { Session } from '../../tables/Session.ts';
import { SpendingLimit } from '../../tables/SpendingLimit.ts';
import { SignInAttempt } from '../../tables/SignInAttempt.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { WebhookEndpoint } from '../../tables/WebhookEndpoint.ts';
import { syncOpenSubscriptions } from '../billing/stopRenewals.ts';
import { clearEventPayloads } from '../billing/paymentEvents.ts';
import { oweBackAfterDeletion } from '../billing/invoiceRefunds.ts';
import { mapProcessorErrors } from '../payments/processorErrors.ts';
import { revokeAccess } from '../signIn/revokeAccess.ts';
import { findTestAccountId } from '../accounts/testAccounts.ts';
import { lockAccount } from '../credits/ledger.ts';
import { purgeAccountGenerations } from '../generations/purge.ts';
import { deleteGeneration } from '../generations/delete.ts';
import { buildServiceCaller } from '../accounts/caller.ts';
import { deleteAccountUploads } from '../uploads/expireUploads.ts';

/** Writes the audit entry of an erasure by staff, in its transaction. */
export type OnErased = (transaction: Transaction, account: Account) => Promise<void>;

/** Result of an erasure. */
export interface ErasureResult {
  /** Number of generations that this run deleted. A run that continues an interrupted one deletes the rest. */
  generations: number;
}

const BATCH_SIZE = 500;

/**
 * Deletes events with their deliveries, those that are being dispatched excepted. Most are deleted before the transaction
 * of the erasure: a month of an active account has too many for one statement.
 */
const DELETE_EVENTS = prepared(
  'delete_outbox_events',
  `DELETE FROM outbox_events WHERE id IN (
     SELECT id FROM outbox_events WHERE account_id = :accountId LIMIT ${STATEMENT_BATCH_SIZE} FOR UPDATE SKIP LOCKED)
   RETURNING id`,
);

/**
 * Erases the personal data of an account: its access, sign-in methods, security log, webhooks, messages, profile,
 * prompts, media and the copies of payment events. The row stays under an unusable address, with the ledger, payments and commissions that
 * accounting requires. Its test account is erased first. It can be repeated: the next run continues an interrupted one.
 * @throws ServiceError validation_error while a subscription would renew, or generations are in progress.
 */
export async function eraseAccount(accountId: number, onErased: OnErased = async () => {}): Promise<ErasureResult> {
  // A renewal may have begun without an event.
  await mapProcessorErrors(syncOpenSubscriptions(accountId));
  await assertErasable(await Account.query().findById(accountId).throwIfNotFound());
  const testAccountId = await findTestAccountId(accountId);
  if (testAccountId !== null) await eraseAccount(testAccountId);
  await runInBatches(DELETE_EVENTS, { accountId });
  const names = await Account.transaction(async (transaction) => {
    const account = await lockAccount(transaction, accountId);
    await assertErasable(account);
    const isFirstRun = account.erased_at === null;
    await SignInAttempt.query(transaction)
      .whereIn('linking_session_hash', Session.query(transaction).where({ account_id: accountId }).select('token_hash'))
      .orWhere({ referral_signed_in_account_id: accountId })
      .delete();
    await Identity.query(transaction).where({ account_id: accountId }).forUpdate();
    await revokeAccess(transaction, accountId);
    await eraseNotifications(transaction, accountId);
    await SecurityEvent.query(transaction).delete().where({ account_id: accountId });
    await Identity.query(transaction).delete().where({ account_id: accountId });
    await IdempotentRequest.query(transaction).delete().where({ account_id: accountId });
    await Referral.query(transaction).patch({ network: null }).where({ account_id: accountId });
    const withoutAddresses = { hosted_invoice_url: null, pdf_url: null };
    await Invoice.query(transaction).patch(withoutAddresses).where({ account_id: accountId });
    await SpendingLimit.query(transaction).delete().where({ account_id: accountId });
    await ApiKey.query(transaction).patch({ name: 'erased', allowed_ips: null }).where({ account_id: accountId });
    await account.$query(transaction).patch({
      email: `erased-${account.uuid}@erased.invalid`,
      first_name: '',
      language: 'en',
      use_case: '',
      social_provider: 'erased',
      staff_since: null,
      auto_topup_enabled: false,
      deletion_requested_at: account.deletion_requested_at ?? now(),
      erased_at: account.erased_at ?? now(),
      webhook_count: 0,
      spending_limit_count: 0,
      credits_low_threshold: null,
      credits_low_since: null,
      email_settings: {},
    });
    await oweBackAfterDeletion(transaction, account);
    // A run that continues an interrupted one is the same action.
    if (isFirstRun) await onErased(transaction, account);
    return [account.uuid, account.stripe_customer_id, await closeAffiliate(transaction, accountId)];
  });
  const generations = await deleteAllGenerations(accountId);
  await purgeAccountGenerations(accountId);
  await deleteAccountUploads(accountId);
  await clearEventPayloads(names.filter((name) => name !== null));
  logger.info({ accountId, generations }, 'account erased');
  return { generations };
}

/**
 * Deletes the remaining events, webhook endpoints with their deliveries, and messages. Rows are locked in the order in which events are
 * dispatched: events, then endpoints, whose deliveries a worker may be recording.
 */
async function eraseNotifications(transaction: Transaction, accountId: number): Promise<void> {
  const owned = { account_id: accountId };
  await OutboxEvent.query(transaction).where(owned).orderBy('id').select('id').forUpdate();
  await WebhookEndpoint.query(transaction).where(owned).orderBy('id').select('id').forUpdate();
  await OutboxEvent.query(transaction).delete().where(owned);
  await WebhookEndpoint.query(transaction).delete().where(owned);
  await Email.query(transaction).delete().where(owned);
}

/**
 * Ends the part of an account in the affiliate program. Commissions that it has earned are paid out as before, if
 * payouts are set up.
 * @returns the id of its connected account at the processor.
 */
async function closeAffiliate(transaction: Transaction, accountId: number): Promise<string | null> {
  const affiliate = await Affiliate.query(transaction).findById(accountId);
  if (affiliate === undefined) return null;
  if (affiliate.closed_at === null) await affiliate.$query(transaction).patch({ closed_at: now() });
  return affiliate.connect_account_id;
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

/** Deletes generations one by one, so that lists, counters and file deletions stay consistent. */
async function deleteAllGenerations(accountId: number): Promise<number> {
  let deleted = 0;
  for (;;) {
    const rows = await Generation.query()
      .where({ account_id: accountId })
      .whereNull('deleted_at')
      .select('uuid')
      .orderBy('number')
      .limit(BATCH_SIZE);
    for (const { uuid } of rows) await deleteGeneration(buildServiceCaller(accountId), uuid);
    deleted += rows.length;
    if (rows.length < BATCH_SIZE) return deleted;
  }
}
