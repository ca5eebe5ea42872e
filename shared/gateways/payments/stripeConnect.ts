import type Stripe from 'stripe';
import { sha256 } from '../../lib/secrets.ts';
import type { PaymentProcessor } from './paymentProcessor.ts';
import { findOrNull, unwrap, withIdempotencyKey } from './stripeClient.ts';
import { ACCOUNT_KEY, buildOwnerKey, CURRENCY, PAYOUT_KEY, toSearchStart } from './stripeMappers.ts';

/** Builds the methods for payouts, by Stripe Connect: affiliates have connected accounts that receive transfers. */
export function buildConnectMethods(stripe: Stripe) {
  return {
    createConnectedAccount: async (owner) => {
      // An account that is handed over gets another connected account, also within the day for which a key is kept.
      const key = `${buildOwnerKey('connect', owner)}-${sha256(owner.email).toString('hex').slice(0, 16)}`;
      const params = {
        type: 'express' as const,
        email: owner.email,
        capabilities: { transfers: { requested: true } },
        metadata: { [ACCOUNT_KEY]: owner.accountUuid },
      };
      return (await unwrap(withIdempotencyKey(key, (options) => stripe.accounts.create(params, options)))).id;
    },

    openOnboarding: async (connectAccountId, { returnUrl, refreshUrl }) => {
      const params = { account: connectAccountId, return_url: returnUrl, refresh_url: refreshUrl };
      return (await unwrap(stripe.accountLinks.create({ ...params, type: 'account_onboarding' }))).url;
    },

    readConnectedAccount: async (connectAccountId) => {
      const account = await findOrNull(stripe.accounts.retrieve(connectAccountId));
      if (account === null) return null;
      const takesTransfers = account.capabilities?.transfers === 'active';
      return { isOnboarded: account.details_submitted, canReceiveTransfers: account.payouts_enabled && takesTransfers };
    },

    createTransfer: async ({ payoutUuid, connectAccountId, amountCents }) => {
      const params = {
        amount: amountCents,
        currency: CURRENCY,
        destination: connectAccountId,
        // `findTransfer` searches by this field.
        transfer_group: payoutUuid,
        metadata: { [PAYOUT_KEY]: payoutUuid },
      };
      return (await unwrap(stripe.transfers.create(params, { idempotencyKey: `payout-${payoutUuid}` }))).id;
    },

    findTransfer: async (payoutUuid, createdAt) => {
      const transfers = stripe.transfers.list({
        transfer_group: payoutUuid,
        created: { gte: toSearchStart(createdAt) },
        limit: 10,
      });
      return (await unwrap(transfers)).data.find(({ reversed: isReversed }) => !isReversed)?.id ?? null;
    },

    isTransferReversed: async (transferId) =>
      (await findOrNull(stripe.transfers.retrieve(transferId)))?.reversed === true,
  } satisfies Partial<PaymentProcessor>;
}
