import type Stripe from 'stripe';
import { sha256 } from '../../lib/secrets.ts';
import type { PaymentProcessor, ProcessorTransfer } from './paymentProcessor.ts';
import { findOrNull, unwrap, withIdempotencyKey } from './stripeClient.ts';
import { ACCOUNT_KEY, buildOwnerKey, CURRENCY, getStripeId, PAYOUT_KEY } from './stripeMappers.ts';

/** Number of transfers of an affiliate that are read: those of 80 years. */
const TRANSFERS_MAX = 1_000;

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

    createTransfer: async ({ payoutUuid, accountUuid, connectAccountId, amountCents }) => {
      const params = {
        amount: amountCents,
        currency: CURRENCY,
        destination: connectAccountId,
        // `listTransfers` searches by this field. It is the same for all payouts: one that a restored database does not
        // know is found as well.
        transfer_group: accountUuid,
        metadata: { [PAYOUT_KEY]: payoutUuid },
      };
      return toTransfer(await unwrap(stripe.transfers.create(params, { idempotencyKey: `payout-${payoutUuid}` })));
    },

    listTransfers: async (accountUuid) => {
      const pages = stripe.transfers.list({ transfer_group: accountUuid, limit: 100 });
      const newestFirst = await unwrap(pages.autoPagingToArray({ limit: TRANSFERS_MAX }));
      return newestFirst
        .filter(({ reversed: isReversed }) => !isReversed)
        .map(toTransfer)
        .toReversed();
    },

    isTransferReversed: async (transferId) =>
      (await findOrNull(stripe.transfers.retrieve(transferId)))?.reversed === true,
  } satisfies Partial<PaymentProcessor>;
}

function toTransfer({ id, destination, amount }: Stripe.Transfer): ProcessorTransfer {
  return { id, connectAccountId: getStripeId(destination), amountCents: amount };
}
