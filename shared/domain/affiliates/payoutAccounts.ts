import { processor, ProcessorError } from '../../gateways/payments/index.ts';
import { config } from '../../lib/config.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { Account } from '../../tables/Account.ts';
import { Affiliate } from '../../tables/Affiliate.ts';
import { tryApply, type AccountChange, nextSyncVersion } from '../billing/accountChanges.ts';
import { mapProcessorErrors } from '../billing/processorErrors.ts';
import { getAffiliate } from './enroll.ts';

/** Where the payment processor sends an affiliate back to; and where it does when the link is too old. */
export const ONBOARDING_PATHS = { returned: '/account/payouts/returned', refresh: '/account/payouts/again' };

/** Said where the processor refuses what it is asked for: Connect may not be switched on, which the operator mends. */
const REJECTED_DETAIL = 'Payouts cannot be set up at the moment. Try again later, or write to us.';

/**
 * Where an affiliate tells the payment processor who they are and where their money goes. The account there is made
 * once, and anew where it is gone there; the link is a new one each time, as each is good for minutes and for one visit.
 * Where payments are simulated payouts are enabled at once, and the address is our own page.
 * @throws ServiceError not_found before the account has enrolled; internal_error (503) while the processor is away, or
 * refuses.
 */
export async function createPayoutOnboardingLink(accountId: number): Promise<string> {
  const affiliate = await getAffiliate(accountId);
  if (processor.isSimulated) {
    await affiliate.$query().patch({ connect_onboarded: true, payout_enabled: true, synced_at: now() });
    return `${config.BASE_URL}/account/?done=payouts`;
  }
  const { account_id: ownerId, connect_account_id: connectAccountId } = affiliate;
  const link = connectAccountId === null ? null : await createAccountLink(connectAccountId);
  if (link !== null) return link;
  if (connectAccountId !== null)
    logger.warn({ accountId: ownerId, connectAccountId }, 'a connected account is gone: made anew');
  const newLink = await createAccountLink(await createPayoutAccount(ownerId, connectAccountId));
  if (newLink === null) throw new Error('A connected account that was just made is gone.');
  return newLink;
}

/**
 * Another link to where an affiliate was already. Makes nothing, as any page may lead here.
 * @returns null where they never were, or what they had there is gone.
 * @throws ServiceError internal_error (503) while the processor is away, or refuses.
 */
export async function refreshPayoutOnboardingLink(accountId: number): Promise<string | null> {
  const affiliate = await Affiliate.query().findById(accountId);
  if (affiliate === undefined || affiliate.connect_account_id === null) return null;
  return createAccountLink(affiliate.connect_account_id);
}

/** @returns null where the account is gone. */
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

/** @param replaces the one that is gone, whose place it takes. @returns the one that counts. */
async function createPayoutAccount(accountId: number, replaces: string | null): Promise<string> {
  const { uuid: accountUuid, email } = await Account.query().findById(accountId).throwIfNotFound();
  // Under a key of the account's: of two at once, or after a crash, there is one still.
  const owner = { accountUuid, email, ...(replaces !== null && { replaces }) };
  const createdId = await mapProcessorErrors(processor.createConnectedAccount(owner), REJECTED_DETAIL);
  await Affiliate.query()
    // What was simulated, or known of the one before, counts no more.
    .patch({ connect_account_id: createdId, connect_onboarded: false, payout_enabled: false, synced_at: now() })
    .where({ account_id: accountId })
    // One that is gone stays until its place is taken: the key is made of it.
    .whereRaw('connect_account_id IS NOT DISTINCT FROM ?', [replaces]);
  const stored = await getAffiliate(accountId);
  return stored.connect_account_id as string;
}

/**
 * Looks at a connected account, and takes over how far its owner has got.
 * @returns null where it is none of our affiliates'.
 */
export async function fetchPayoutAccountChange(connectAccountId: string): Promise<AccountChange | null> {
  const affiliate = await Affiliate.query().findOne({ connect_account_id: connectAccountId });
  if (affiliate === undefined) return null;
  const syncVersion = await nextSyncVersion();
  const connected = await processor.readConnectedAccount(connectAccountId);
  return {
    accountId: affiliate.account_id,
    apply: async (transaction) => {
      await Affiliate.query(transaction)
        // By now another one may have taken its place.
        .where({ account_id: affiliate.account_id, connect_account_id: connectAccountId })
        .where('sync_version', '<', syncVersion)
        .patch({
          connect_onboarded: connected?.isOnboarded ?? false,
          payout_enabled: connected?.canReceiveTransfers ?? false,
          sync_version: syncVersion,
          synced_at: now(),
        });
      return undefined;
    },
  };
}

/** Looks at an affiliate's connected account right now: they have just come back from there. */
export async function syncPayoutAccount(accountId: number): Promise<void> {
  const { connect_account_id: id } = await getAffiliate(accountId);
  if (id !== null) await tryApply(() => fetchPayoutAccountChange(id));
}

const RESYNC_INTERVAL_MS = 3_600_000;
const BATCH_SIZE = 200;

/** Looks at those who are not through yet: nobody may have told us that they are by now. */
export async function syncPendingOnboardings(): Promise<void> {
  const waiting = await Affiliate.query()
    .whereNotNull('connect_account_id')
    .where({ payout_enabled: false })
    .where('synced_at', '<=', addMilliseconds(now(), -RESYNC_INTERVAL_MS))
    .orderBy('synced_at')
    .limit(BATCH_SIZE);
  for (const { account_id: ownerId, connect_account_id: id } of waiting) {
    if (await tryApply(() => fetchPayoutAccountChange(id as string))) continue;
    // Those that cannot be looked at do not keep the others from it.
    await Affiliate.query().findById(ownerId).patch({ synced_at: now() });
  }
}
