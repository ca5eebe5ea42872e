import type Stripe from 'stripe';
import type { PaymentProcessor } from './paymentProcessor.ts';
import { findOrNull, unwrap, withIdempotencyKey } from './stripeResponses.ts';
import { ACCOUNT_KEY, CURRENCY, PAYOUT_KEY, toUnixSeconds } from './stripeMappers.ts';

type ConnectMethods = Pick<
  PaymentProcessor,
  'createConnectedAccount' | 'openOnboarding' | 'readConnectedAccount' | 'createTransfer' | 'findTransfer'
>;

/** Paying others, by Stripe Connect: they have an account there that Stripe knows the owner of, and we transfer to it. */
export function buildConnectMethods(stripe: Stripe): ConnectMethods {
  return {
    createConnectedAccount: async ({ accountUuid, email, replaces: instead }) => {
      const key = ['connect', accountUuid, instead].filter((part) => part !== undefined).join('-');
      const order = {
        type: 'express' as const,
        email,
        capabilities: { transfers: { requested: true } },
        metadata: { [ACCOUNT_KEY]: accountUuid },
      };
      return (await unwrap(withIdempotencyKey(key, (options) => stripe.accounts.create(order, options)))).id;
    },

    openOnboarding: async (connectAccountId, { returnUrl, refreshUrl }) => {
      const order = { account: connectAccountId, return_url: returnUrl, refresh_url: refreshUrl };
      return (await unwrap(stripe.accountLinks.create({ ...order, type: 'account_onboarding' }))).url;
    },

    readConnectedAccount: async (connectAccountId) => {
      const account = await findOrNull(stripe.accounts.retrieve(connectAccountId));
      if (account === null) return null;
      const takesTransfers = account.capabilities?.transfers === 'active';
      return { isOnboarded: account.details_submitted, canReceiveTransfers: account.payouts_enabled && takesTransfers };
    },

    createTransfer: async ({ payoutUuid, connectAccountId, amountCents }) => {
      const order = {
        amount: amountCents,
        currency: CURRENCY,
        destination: connectAccountId,
        // Transfers are found again by it.
        transfer_group: payoutUuid,
        metadata: { [PAYOUT_KEY]: payoutUuid },
      };
      return (await unwrap(stripe.transfers.create(order, { idempotencyKey: `payout-${payoutUuid}` }))).id;
    },

    findTransfer: async (payoutUuid, since) => {
      const made = stripe.transfers.list({
        transfer_group: payoutUuid,
        created: { gte: toUnixSeconds(since) },
        limit: 1,
      });
      return (await unwrap(made)).data[0]?.id ?? null;
    },
  };
}
