import type Stripe from 'stripe';
import { type StripeStore, fromFields } from './store.ts';
import { StripeApiError } from './stripeApiError.ts';

/** An account of somebody who is to be paid, who has told nothing of themselves yet. */
export function addConnectedAccount(
  store: StripeStore,
  email: string,
  metadata: Record<string, string>,
): Stripe.Account {
  return store.add<'account'>(
    fromFields<Stripe.Account>({
      id: store.newId('acct'),
      object: 'account',
      capabilities: { transfers: 'inactive' },
      charges_enabled: false,
      country: 'US',
      created: store.now(),
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
export function setOnboardingState(store: StripeStore, account: Stripe.Account, state: Onboarding): void {
  const isEnabled = state === 'enabled';
  account.details_submitted = true;
  account.payouts_enabled = isEnabled;
  account.capabilities = { transfers: isEnabled ? 'active' : 'inactive' };
  store.emit('account.updated', account);
}

/** @param param names where the id stood, if not in the path. @throws Refusal where there is none, or it is not ours any more. */
export function getConnectedAccount(store: StripeStore, id: string, param?: string): Stripe.Account {
  if (!store.disconnectedAccounts.has(id)) return store.get('account', id, param);
  const message = `The provided key does not have access to account '${id}' (or that account does not exist). Application access may have been revoked.`;
  throw new StripeApiError(403, { code: 'account_invalid', message });
}

export interface NewTransfer {
  amount: number;
  currency: string;
  destination: string;
  transferGroup: string | null;
  metadata: Record<string, string>;
}

/** Moves money to a connected account. @throws Refusal where it takes none, or there is none. */
export function addTransfer(store: StripeStore, fields: NewTransfer): Stripe.Transfer {
  const account = getConnectedAccount(store, fields.destination, 'destination');
  if (account.capabilities?.transfers !== 'active') {
    const message =
      'Your destination account needs to have at least one of the following capabilities enabled: transfers';
    throw new StripeApiError(400, { code: 'insufficient_capabilities_for_transfer', message });
  }
  if (store.balanceCents !== null && store.balanceCents < fields.amount) {
    throw new StripeApiError(400, { code: 'balance_insufficient', message: 'You have insufficient available funds.' });
  }
  if (store.balanceCents !== null) store.balanceCents -= fields.amount;
  return store.add<'transfer'>(
    fromFields<Stripe.Transfer>({
      id: store.newId('tr'),
      object: 'transfer',
      amount: fields.amount,
      amount_reversed: 0,
      created: store.now(),
      currency: fields.currency,
      description: null,
      destination: fields.destination,
      livemode: false,
      metadata: fields.metadata,
      reversed: false,
      transfer_group: fields.transferGroup,
    }),
  );
}
