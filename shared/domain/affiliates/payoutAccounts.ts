import type { Transaction } from 'objection';
import { processor, ProcessorError } from '../../gateways/payments/index.ts';
import { config } from '../../lib/config.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import type { Account } from '../../tables/Account.ts';
import { Affiliate } from '../../tables/Affiliate.ts';
import { type AccountSnapshot, applySnapshot, nextSyncVersion } from '../payments/accountSnapshot.ts';
import { assertNotDeleting } from '../accounts/accounts.ts';
import type { Caller } from '../accounts/caller.ts';
import { withAccountOfCaller } from '../accounts/lockedCredentials.ts';
import { mapProcessorErrors, trySync } from '../payments/processorErrors.ts';
import { getAffiliate } from './enroll.ts';
import { HOUR_MS } from '../../spec/durations.ts';

/** Pages that the processor returns an affiliate to after onboarding, or when the onboarding link has expired. */
const ONBOARDING_PATHS = { returned: '/account/payouts/returned', refresh: '/account/payouts/again' };

/** Shown when the processor rejects a request: Connect may not be enabled, which only the operator can fix. */
const REJECTED_DETAIL = 'Payouts cannot be set up at the moment. Try again later, or contact support.';

/**
 * Returns a link to the processor's onboarding, where an affiliate enters their identity and bank account. The
 * connected account is created once, and again if it no longer exists; each link is new, as it is valid for minutes and
 * one visit. Simulated payments enable payouts right away and link to the account page.
 * @throws ServiceError as {@link withAccountOfCaller}; not_found if the account is not enrolled; validation_error while
 * it is being deleted; internal_error (503) while the processor is unavailable, or if it rejects the request.
 */
export async function createPayoutOnboardingLink(caller: Caller): Promise<string> {
  const { account, affiliate } = await withAccountOfCaller(caller, async (transaction, account) => {
    assertNotDeleting(account);
    return { account, affiliate: await getAffiliate(account.id, transaction) };
  });
  if (processor.isSimulated) {
    await affiliate.$query().patch({ connect_onboarded: true, payout_enabled: true, synced_at: now() });
    return `${config.BASE_URL}/account/affiliate/?done=payouts`;
  }
  const { account_id: ownerId, connect_account_id: connectAccountId } = affiliate;
  const link = connectAccountId === null ? null : await createAccountLink(connectAccountId);
  if (link !== null) return link;
  if (connectAccountId !== null)
    logger.warn({ accountId: ownerId, connectAccountId }, 'connected account not found; creating another');
  const newLink = await createAccountLink(await createPayoutAccount(caller, account, connectAccountId));
  if (newLink === null) throw new Error('The connected account that was just created does not exist.');
  return newLink;
}

/**
 * Returns a new link to an onboarding that was started before. Creates nothing, as any page may link here.
 * @returns null if onboarding was never started, or the connected account no longer exists.
 * @throws ServiceError internal_error (503) while the processor is unavailable, or if it rejects the request.
 */
export async function refreshPayoutOnboardingLink(accountId: number): Promise<string | null> {
  const affiliate = await Affiliate.query().findById(accountId);
  if (affiliate === undefined || affiliate.connect_account_id === null) return null;
  return createAccountLink(affiliate.connect_account_id);
}

/** @returns null if the connected account no longer exists. */
async function createAccountLink(connectAccountId: string): Promise<string | null> {
  const urls = {
    returnUrl: config.BASE_URL + ONBOARDING_PATHS.returned,
    refreshUrl: config.BASE_URL + ONBOARDING_PATHS.refresh,
  };
  const opened = processor.openOnboarding(connectAccountId, urls).catch((error: unknown) => {
    if (error instanceof ProcessorError && error.isConnectedAccountGone) return null;
    throw error;
  });
  return mapProcessorErrors(opened, REJECTED_DETAIL);
}

/**
 * Creates a connected account.
 * @param replaces the one that it replaces, which no longer exists.
 * @returns the id that is stored: another request may have created it first.
 * @throws ServiceError insufficient_scope if the account was handed over meanwhile: the former owner must not get
 *   payouts of the new one.
 */
async function createPayoutAccount(
  caller: Caller,
  { id: accountId, uuid: accountUuid, email }: Account,
  replaces: string | null,
): Promise<string> {
  // Idempotent per account and owner: concurrent requests, and a retry after a crash, create one connected account.
  const owner = { accountUuid, email, ...(replaces !== null && { replaces }) };
  const createdId = await mapProcessorErrors(processor.createConnectedAccount(owner), REJECTED_DETAIL);
  return withAccountOfCaller(caller, async (transaction) => {
    await Affiliate.query(transaction)
      // Resets the state of a simulated onboarding, or of the previous connected account.
      .patch({ connect_account_id: createdId, connect_onboarded: false, payout_enabled: false, synced_at: now() })
      .where({ account_id: accountId })
      // The previous id stays until it is replaced, as it is part of the idempotency key.
      .whereRaw('connect_account_id IS NOT DISTINCT FROM ?', [replaces]);
    const stored = await Affiliate.query(transaction).findById(accountId).throwIfNotFound();
    return stored.connect_account_id as string;
  });
}

/**
 * Detaches the connected account of an account that is handed over: it holds the identity and the bank account of the
 * former owner. A payout that was created before is still transferred to it.
 */
export async function detachPayoutAccount(transaction: Transaction, accountId: number): Promise<void> {
  await Affiliate.query(transaction)
    .patch({ connect_account_id: null, connect_onboarded: false, payout_enabled: false })
    .where({ account_id: accountId });
}

/**
 * Reads how far the owner of a connected account has got with the onboarding.
 * @returns null if it does not belong to an affiliate.
 */
export async function fetchPayoutAccount(connectAccountId: string): Promise<AccountSnapshot | null> {
  const affiliate = await Affiliate.query().findOne({ connect_account_id: connectAccountId });
  if (affiliate === undefined) return null;
  const { account_id: accountId } = affiliate;
  const syncVersion = await nextSyncVersion();
  const connected = await processor.readConnectedAccount(connectAccountId);
  return {
    accountId,
    problem: null,
    apply: async (transaction) => {
      await Affiliate.query(transaction)
        // Another connected account may have replaced this one by now.
        .where({ account_id: accountId, connect_account_id: connectAccountId })
        .where('sync_version', '<', syncVersion)
        .patch({
          connect_onboarded: connected?.isOnboarded ?? false,
          payout_enabled: connected?.canReceiveTransfers ?? false,
          sync_version: syncVersion,
          synced_at: now(),
        });
    },
  };
}

/** Brings an affiliate up to date with their connected account. */
export async function syncConnectedAccount(connectAccountId: string): Promise<void> {
  await applySnapshot(await fetchPayoutAccount(connectAccountId));
}

/** Syncs an affiliate's connected account when they return from the onboarding. @returns the affiliate after that. */
export async function syncPayoutAccount(accountId: number): Promise<Affiliate> {
  const { connect_account_id: id } = await getAffiliate(accountId);
  if (id !== null) await trySync(() => syncConnectedAccount(id));
  return getAffiliate(accountId);
}

const RESYNC_INTERVAL_MS = HOUR_MS;
const BATCH_SIZE = 200;

/** Syncs onboardings that are not complete, as their event may not have arrived. */
export async function syncPendingOnboardings(): Promise<void> {
  const waiting = await Affiliate.query()
    .whereNotNull('connect_account_id')
    .where({ payout_enabled: false })
    .where('synced_at', '<=', addMilliseconds(now(), -RESYNC_INTERVAL_MS))
    .orderBy('synced_at')
    .limit(BATCH_SIZE);
  for (const { account_id: ownerId, connect_account_id: id } of waiting) {
    if (await trySync(() => syncConnectedAccount(id as string))) continue;
    // An account that fails is retried after all others, and does not block them.
    await Affiliate.query().findById(ownerId).patch({ synced_at: now() });
  }
}
