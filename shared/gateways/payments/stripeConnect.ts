import type Stripe from 'stripe';
import type { PaymentProcessor } from './processor.ts';
import { found, said, underKey } from './stripeAnswers.ts';
import { ACCOUNT_KEY, CURRENCY, PAYOUT_KEY, seconds } from './stripeShapes.ts';

type Connect = Pick<
  PaymentProcessor,
  'createConnectedAccount' | 'openOnboarding' | 'readConnectedAccount' | 'transfer' | 'findTransfer'
>;

/** Paying others, by Stripe Connect: they have an account there that Stripe knows the owner of, and we transfer to it. */
export function connect(stripe: Stripe): Connect {
  return {
    createConnectedAccount: async ({ accountUuid, email, instead }) => {
      const key = ['connect', accountUuid, instead].filter((part) => part !== undefined).join('-');
      const order = {
        type: 'express' as const,
        email,
        capabilities: { transfers: { requested: true } },
        metadata: { [ACCOUNT_KEY]: accountUuid },
      };
      return (await said(underKey(key, (options) => stripe.accounts.create(order, options)))).id;
    },

    openOnboarding: async (connectAccountId, { returnUrl, refreshUrl }) => {
      const order = { account: connectAccountId, return_url: returnUrl, refresh_url: refreshUrl };
      return (await said(stripe.accountLinks.create({ ...order, type: 'account_onboarding' }))).url;
    },

    readConnectedAccount: async (connectAccountId) => {
      const account = await found(stripe.accounts.retrieve(connectAccountId));
      if (account === null) return null;
      const takesTransfers = account.capabilities?.transfers === 'active';
      return { isOnboarded: account.details_submitted, canBePaid: account.payouts_enabled && takesTransfers };
    },

    transfer: async ({ payoutUuid, connectAccountId, amountCents }) => {
      const order = {
        amount: amountCents,
        currency: CURRENCY,
        destination: connectAccountId,
        // Transfers are found again by it.
        transfer_group: payoutUuid,
        metadata: { [PAYOUT_KEY]: payoutUuid },
      };
      return (await said(stripe.transfers.create(order, { idempotencyKey: `payout-${payoutUuid}` }))).id;
    },

    findTransfer: async (payoutUuid, since) => {
      const made = stripe.transfers.list({ transfer_group: payoutUuid, created: { gte: seconds(since) }, limit: 1 });
      return (await said(made)).data[0]?.id ?? null;
    },
  };
}
