import type Stripe from 'stripe';
import { type Books, made } from './books.ts';
import { Refusal } from './refusal.ts';

/** An account of somebody who is to be paid, who has told nothing of themselves yet. */
export function addConnectedAccount(books: Books, email: string, metadata: Record<string, string>): Stripe.Account {
  return books.add<'account'>(
    made<Stripe.Account>({
      id: books.newId('acct'),
      object: 'account',
      capabilities: { transfers: 'inactive' },
      charges_enabled: false,
      country: 'US',
      created: books.now(),
      default_currency: 'usd',
      details_submitted: false,
      email,
      metadata,
      payouts_enabled: false,
      type: 'express',
    }),
  );
}

/** - `submitted`: all is told, and being checked. - `enabled`: checked. - `blocked`: no money reaches it any more. */
export type Onboarding = 'submitted' | 'enabled' | 'blocked';

/** What its owner does on the page, or Stripe afterwards. */
export function onboard(books: Books, account: Stripe.Account, state: Onboarding): void {
  const isEnabled = state === 'enabled';
  account.details_submitted = true;
  account.payouts_enabled = isEnabled;
  account.capabilities = { transfers: isEnabled ? 'active' : 'inactive' };
  books.tell('account.updated', account);
}

/** @param param names where the id stood, if not in the path. @throws Refusal where there is none, or it is not ours any more. */
export function connectedAccount(books: Books, id: string, param?: string): Stripe.Account {
  if (!books.disconnected.has(id)) return books.get('account', id, param);
  const message = `The provided key does not have access to account '${id}' (or that account does not exist). Application access may have been revoked.`;
  throw new Refusal(403, { code: 'account_invalid', message });
}

export interface NewTransfer {
  amount: number;
  currency: string;
  destination: string;
  transferGroup: string | null;
  metadata: Record<string, string>;
}

/** Moves money to a connected account. @throws Refusal where it takes none, or there is none. */
export function addTransfer(books: Books, order: NewTransfer): Stripe.Transfer {
  const account = connectedAccount(books, order.destination, 'destination');
  if (account.capabilities?.transfers !== 'active') {
    const message =
      'Your destination account needs to have at least one of the following capabilities enabled: transfers';
    throw new Refusal(400, { code: 'insufficient_capabilities_for_transfer', message });
  }
  if (books.balanceCents !== null && books.balanceCents < order.amount) {
    throw new Refusal(400, { code: 'balance_insufficient', message: 'You have insufficient available funds.' });
  }
  if (books.balanceCents !== null) books.balanceCents -= order.amount;
  return books.add<'transfer'>(
    made<Stripe.Transfer>({
      id: books.newId('tr'),
      object: 'transfer',
      amount: order.amount,
      amount_reversed: 0,
      created: books.now(),
      currency: order.currency,
      description: null,
      destination: order.destination,
      livemode: false,
      metadata: order.metadata,
      reversed: false,
      transfer_group: order.transferGroup,
    }),
  );
}
