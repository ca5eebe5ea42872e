import { processor, ProcessorError } from '../../gateways/payments/index.ts';
import { config } from '../../lib/config.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { Account } from '../../tables/Account.ts';
import { Affiliate } from '../../tables/Affiliate.ts';
import { attempt, type Effect, takeTicket } from '../billing/effects.ts';
import { orUnavailable } from '../billing/orUnavailable.ts';
import { affiliateOf } from './enroll.ts';

/** Where the payment processor sends an affiliate back to; and where it does when the link is too old. */
export const ONBOARDING_PATHS = { returned: '/account/payouts/returned', again: '/account/payouts/again' };

/** Said where the processor refuses what it is asked for: Connect may not be switched on, which the operator mends. */
const REFUSED = 'Payouts cannot be set up at the moment. Try again later, or write to us.';

/**
 * Where an affiliate tells the payment processor who they are and where their money goes. The account there is made
 * once, and anew where it is gone there; the link is a new one each time, as each is good for minutes and for one visit.
 * Where payments are simulated payouts are enabled at once, and the address is our own page.
 * @throws ServiceError not_found before the account has enrolled; internal_error (503) while the processor is away, or
 * refuses.
 */
export async function onboardingLink(accountId: number): Promise<string> {
  const affiliate = await affiliateOf(accountId);
  if (processor.isSimulated) {
    await affiliate.$query().patch({ connect_onboarded: true, payout_enabled: true, synced_at: now() });
    return `${config.BASE_URL}/account/?done=payouts`;
  }
  const { account_id: ownerId, connect_account_id: known } = affiliate;
  const link = known === null ? null : await linkTo(known);
  if (link !== null) return link;
  if (known !== null) logger.warn({ accountId: ownerId, known }, 'a connected account is gone: made anew');
  const anew = await linkTo(await makeConnectAccount(ownerId, known));
  if (anew === null) throw new Error('A connected account that was just made is gone.');
  return anew;
}

/**
 * Another link to where an affiliate was already. Makes nothing, as any page may lead here.
 * @returns null where they never were, or what they had there is gone.
 * @throws ServiceError internal_error (503) while the processor is away, or refuses.
 */
export async function reopenOnboarding(accountId: number): Promise<string | null> {
  const affiliate = await Affiliate.query().findById(accountId);
  if (affiliate === undefined || affiliate.connect_account_id === null) return null;
  return linkTo(affiliate.connect_account_id);
}

/** @returns null where the account is gone. */
async function linkTo(connectAccountId: string): Promise<string | null> {
  const addresses = {
    returnUrl: config.BASE_URL + ONBOARDING_PATHS.returned,
    refreshUrl: config.BASE_URL + ONBOARDING_PATHS.again,
  };
  const opened = processor.openOnboarding(connectAccountId, addresses).catch((error: unknown) => {
    if (error instanceof ProcessorError && error.isConnectedAccountGone) return null;
    throw error;
  });
  return orUnavailable(opened, REFUSED);
}

/** @param instead the one that is gone, whose place it takes. @returns the one that counts. */
async function makeConnectAccount(accountId: number, instead: string | null): Promise<string> {
  const { uuid: accountUuid, email } = await Account.query().findById(accountId).throwIfNotFound();
  // Under a key of the account's: of two at once, or after a crash, there is one still.
  const owner = { accountUuid, email, ...(instead !== null && { instead }) };
  const made = await orUnavailable(processor.createConnectedAccount(owner), REFUSED);
  await Affiliate.query()
    // What was simulated, or known of the one before, counts no more.
    .patch({ connect_account_id: made, connect_onboarded: false, payout_enabled: false, synced_at: now() })
    .where({ account_id: accountId })
    // One that is gone stays until its place is taken: the key is made of it.
    .whereRaw('connect_account_id IS NOT DISTINCT FROM ?', [instead]);
  const stored = await affiliateOf(accountId);
  return stored.connect_account_id as string;
}

/**
 * Looks at a connected account, and takes over how far its owner has got.
 * @returns null where it is none of our affiliates'.
 */
export async function connectEffect(connectAccountId: string): Promise<Effect | null> {
  const affiliate = await Affiliate.query().findOne({ connect_account_id: connectAccountId });
  if (affiliate === undefined) return null;
  const ticket = await takeTicket();
  const connected = await processor.readConnectedAccount(connectAccountId);
  return {
    accountId: affiliate.account_id,
    apply: async (transaction) => {
      await Affiliate.query(transaction)
        // By now another one may have taken its place.
        .where({ account_id: affiliate.account_id, connect_account_id: connectAccountId })
        .where('sync_ticket', '<', ticket)
        .patch({
          connect_onboarded: connected?.isOnboarded ?? false,
          payout_enabled: connected?.canBePaid ?? false,
          sync_ticket: ticket,
          synced_at: now(),
        });
      return undefined;
    },
  };
}

/** Looks at an affiliate's connected account right now: they have just come back from there. */
export async function lookAtConnectAccount(accountId: number): Promise<void> {
  const { connect_account_id: id } = await affiliateOf(accountId);
  if (id !== null) await attempt(() => connectEffect(id));
}

const HOUR_MS = 3_600_000;
const AT_ONCE = 200;

/** Looks at those who are not through yet: nobody may have told us that they are by now. */
export async function lookAtOnboardings(): Promise<void> {
  const waiting = await Affiliate.query()
    .whereNotNull('connect_account_id')
    .where({ payout_enabled: false })
    .where('synced_at', '<=', addMilliseconds(now(), -HOUR_MS))
    .orderBy('synced_at')
    .limit(AT_ONCE);
  for (const { account_id: ownerId, connect_account_id: id } of waiting) {
    if (await attempt(() => connectEffect(id as string))) continue;
    // Those that cannot be looked at do not keep the others from it.
    await Affiliate.query().findById(ownerId).patch({ synced_at: now() });
  }
}
