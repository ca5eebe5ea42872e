import type Stripe from 'stripe';
import type { StripeStore } from './store.ts';
import { addConnectedAccount, addTransfer, getConnectedAccount } from './connect.ts';
import type { StripeParams } from './params.ts';
import { type ExpandParams, LIST_PARAMS, listObjects, retrieveObject } from './listing.ts';
import { StripeApiError } from './stripeApiError.ts';
import type { StripeHandler } from './handler.ts';

type Routes = Record<`${'accounts' | 'accountLinks' | 'transfers'}.${string}`, [string, string, StripeHandler]>;

/** Routes of Stripe Connect. */
export const connectRoutes = {
  'accounts.create': ['POST', '/v1/accounts', createAccount],
  'accounts.retrieve': [
    'GET',
    '/v1/accounts/:id',
    (store, params, id) => {
      params.allowOnly<ExpandParams>('expand');
      return getConnectedAccount(store, id);
    },
  ],
  'accountLinks.create': ['POST', '/v1/account_links', createAccountLink],
  'transfers.create': ['POST', '/v1/transfers', createTransfer],
  'transfers.retrieve': ['GET', '/v1/transfers/:id', retrieveObject('transfer')],
  'transfers.list': [
    'GET',
    '/v1/transfers',
    (store, params) => {
      params.allowOnly<Stripe.TransferListParams>(...LIST_PARAMS, 'created', 'destination', 'transfer_group');
      return listObjects(
        store,
        'transfer',
        params,
        '/v1/transfers',
        (transfer) =>
          (!params.has('destination') || transfer.destination === params.text('destination')) &&
          (!params.has('transfer_group') || transfer.transfer_group === params.text('transfer_group')),
      );
    },
  ],
} satisfies Routes;

function createAccount(store: StripeStore, params: StripeParams): Stripe.Account {
  params.allowOnly<Stripe.AccountCreateParams>(
    'type',
    'country',
    'email',
    'capabilities',
    'business_type',
    'metadata',
    'expand',
  );
  if (!store.isConnectEnabled) {
    const message = "You can only create new accounts if you've signed up for Connect.";
    throw new StripeApiError(400, { message });
  }
  if (params.choice('type', 'express', 'standard', 'custom') !== 'express') {
    params.reject('type', 'The fake creates express accounts only.');
  }
  const capabilities = params
    .nested('capabilities')
    .allowOnly<Stripe.AccountCreateParams.Capabilities>('transfers', 'card_payments');
  if (capabilities.nested('transfers').flag('requested') !== true) {
    params.reject('capabilities', 'Express accounts must request at least one capability.');
  }
  return addConnectedAccount(store, params.required('email'), params.metadata());
}

/** Lifetime of an onboarding link. */
const LINK_SECONDS = 300;

function createAccountLink(store: StripeStore, params: StripeParams): Stripe.AccountLink {
  params.allowOnly<Stripe.AccountLinkCreateParams>(
    'account',
    'type',
    'refresh_url',
    'return_url',
    'collection_options',
    'expand',
  );
  const account = getConnectedAccount(store, params.required('account'), 'account');
  if (params.choice('type', 'account_onboarding', 'account_update') !== 'account_onboarding') {
    params.reject('type', 'An account_update link is not for accounts with a dashboard of Stripe.');
  }
  params.url('refresh_url');
  params.url('return_url');
  const created = store.now();
  return {
    object: 'account_link',
    created,
    expires_at: created + LINK_SECONDS,
    url: `${store.url}/setup/e/${account.id}/${store.newId('link')}`,
  };
}

function createTransfer(store: StripeStore, params: StripeParams): Stripe.Transfer {
  params.allowOnly<Stripe.TransferCreateParams>(
    'amount',
    'currency',
    'destination',
    'transfer_group',
    'metadata',
    'description',
    'expand',
  );
  const amount = params.integer('amount') ?? 0;
  if (amount < 1)
    params.reject('amount', 'This value must be greater than or equal to 1.', 'parameter_invalid_integer');
  return addTransfer(store, {
    amount,
    currency: params.required('currency'),
    destination: params.required('destination'),
    transferGroup: params.text('transfer_group') ?? null,
    metadata: params.metadata(),
  });
}
