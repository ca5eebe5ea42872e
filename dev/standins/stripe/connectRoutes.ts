import type Stripe from 'stripe';
import type { Books } from './books.ts';
import { addConnectedAccount, addTransfer, connectedAccount } from './connect.ts';
import type { Params } from './form.ts';
import { PAGE_PARAMS, page, retrieve } from './pages.ts';
import { Refusal } from './refusal.ts';
import type { Handler } from './routes.ts';

type Routes = Record<`${'accounts' | 'accountLinks' | 'transfers'}.${string}`, [string, string, Handler]>;

/** Paying others. */
export const connectRoutes = {
  'accounts.create': ['POST', '/v1/accounts', createAccount],
  'accounts.retrieve': [
    'GET',
    '/v1/accounts/:id',
    (books, params, id) => {
      params.only('expand');
      return connectedAccount(books, id);
    },
  ],
  'accountLinks.create': ['POST', '/v1/account_links', createLink],
  'transfers.create': ['POST', '/v1/transfers', createTransfer],
  'transfers.retrieve': ['GET', '/v1/transfers/:id', retrieve('transfer')],
  'transfers.list': [
    'GET',
    '/v1/transfers',
    (books, params) => {
      params.only(...PAGE_PARAMS, 'destination', 'transfer_group');
      return page(
        books,
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

function createAccount(books: Books, params: Params): Stripe.Account {
  params.only('type', 'country', 'email', 'capabilities', 'business_type', 'metadata', 'expand');
  if (!books.isConnectOn) {
    const message = "You can only create new accounts if you've signed up for Connect.";
    throw new Refusal(400, { message });
  }
  if (params.choice('type', 'express', 'standard', 'custom') !== 'express') {
    params.refuse('type', 'The stand-in makes express accounts.');
  }
  const capabilities = params.at('capabilities').only('transfers', 'card_payments');
  if (capabilities.at('transfers').flag('requested') !== true) {
    params.refuse('capabilities', 'Express accounts must request at least one capability.');
  }
  return addConnectedAccount(books, params.required('email'), params.metadata());
}

/** How long a link is good for. */
const LINK_SECONDS = 300;

function createLink(books: Books, params: Params): Stripe.AccountLink {
  params.only('account', 'type', 'refresh_url', 'return_url', 'collection_options', 'expand');
  const account = connectedAccount(books, params.required('account'), 'account');
  if (params.choice('type', 'account_onboarding', 'account_update') !== 'account_onboarding') {
    params.refuse('type', 'An account_update link is not for accounts with a dashboard of Stripe.');
  }
  params.url('refresh_url');
  params.url('return_url');
  const created = books.now();
  return {
    object: 'account_link',
    created,
    expires_at: created + LINK_SECONDS,
    url: `${books.url}/setup/e/${account.id}/${books.newId('link')}`,
  };
}

function createTransfer(books: Books, params: Params): Stripe.Transfer {
  params.only('amount', 'currency', 'destination', 'transfer_group', 'metadata', 'description', 'expand');
  const amount = params.integer('amount') ?? 0;
  if (amount < 1)
    params.refuse('amount', 'This value must be greater than or equal to 1.', 'parameter_invalid_integer');
  return addTransfer(books, {
    amount,
    currency: params.required('currency'),
    destination: params.required('destination'),
    transferGroup: params.text('transfer_group') ?? null,
    metadata: params.metadata(),
  });
}
