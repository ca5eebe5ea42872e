import { processor, requireProcessor } from '../../gateways/payments/index.ts';
import { config } from '../../lib/config.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { Account } from '../../tables/Account.ts';
import { Affiliate } from '../../tables/Affiliate.ts';
import { attempt, type Effect, takeTicket } from '../billing/effects.ts';
import { orUnavailable } from '../billing/orUnavailable.ts';
import { affiliateOf } from './enroll.ts';

/** Where the payment processor sends an affiliate back to; and where it does when the link is too old. */
export const ONBOARDING_PATHS = { returned: '/account/payouts/returned', again: '/account/payouts/again' };

/**
 * Where an affiliate tells the payment processor who they are and where their money goes. The account there is made
 * once; the link is a new one each time, as each is good for minutes and for one visit.
 * Without a processor payouts are enabled at once, and the address is our own page.
 * @throws ServiceError not_found before the account has enrolled; internal_error (503) while the processor is away.
 */
export async function onboardingLink(accountId: number): Promise<string> {
  const affiliate = await affiliateOf(accountId);
  if (processor === null) {
    await affiliate.$query().patch({ connect_onboarded: true, payout_enabled: true, synced_at: now() });
    return `${config.BASE_URL}/account/?done=payouts`;
  }
  const connectAccountId = await connectAccountOf(affiliate);
  const addresses = {
    returnUrl: config.BASE_URL + ONBOARDING_PATHS.returned,
    refreshUrl: config.BASE_URL + ONBOARDING_PATHS.again,
  };
  return orUnavailable(processor.openOnboarding(connectAccountId, addresses));
}

async function connectAccountOf(affiliate: Affiliate): Promise<string> {
  if (affiliate.connect_account_id !== null) return affiliate.connect_account_id;
  const { uuid: accountUuid, email } = await Account.query().findById(affiliate.account_id).throwIfNotFound();
  // Under a key of the account's: of two at once, or after a crash, there is one still.
  const made = await orUnavailable(requireProcessor().createConnectedAccount({ accountUuid, email }));
  await Affiliate.query()
    // What was simulated without a processor counts no more.
    .patch({ connect_account_id: made, connect_onboarded: false, payout_enabled: false, synced_at: now() })
    .where({ account_id: affiliate.account_id })
    .whereNull('connect_account_id');
  const stored = await affiliateOf(affiliate.account_id);
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
  const connected = await requireProcessor().readConnectedAccount(connectAccountId);
  return {
    accountId: affiliate.account_id,
    apply: async (transaction) => {
      await Affiliate.query(transaction)
        .where({ account_id: affiliate.account_id })
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
  if (processor !== null && id !== null) await attempt(() => connectEffect(id));
}

const HOUR_MS = 3_600_000;
const AT_ONCE = 200;

/** Looks at those who are not through yet: nobody may have told us that they are by now. */
export async function lookAtOnboardings(): Promise<void> {
  if (processor === null) return;
  const waiting = await Affiliate.query()
    .whereNotNull('connect_account_id')
    .where({ payout_enabled: false })
    .where('synced_at', '<=', addMilliseconds(now(), -HOUR_MS))
    .orderBy('synced_at')
    .limit(AT_ONCE);
  for (const { connect_account_id: id } of waiting) await attempt(() => connectEffect(id as string));
}
