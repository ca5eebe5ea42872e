import type Stripe from 'stripe';
import { type StripeStore, fromFields } from './store.ts';
import { StripeApiError } from './stripeApiError.ts';

/** Adds a connected account whose owner has not submitted any details yet. */
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

/**
 * - `submitted`: all details are submitted and under review. - `enabled`: approved. - `blocked`: no longer accepts
 *   transfers.
 */
export type Onboarding = 'submitted' | 'enabled' | 'blocked';

/** Changes the onboarding state, as the owner does on the page, or Stripe afterwards. */
export function setOnboardingState(store: StripeStore, account: Stripe.Account, state: Onboarding): void {
  const isEnabled = state === 'enabled';
  account.details_submitted = true;
  account.payouts_enabled = isEnabled;
  account.capabilities = { transfers: isEnabled ? 'active' : 'inactive' };
  store.emit('account.updated', account);
}

/**
 * @param param the parameter with the id, if it is not in the path. @throws StripeApiError if it is missing or
 *   disconnected.
 */
export function getConnectedAccount(store: StripeStore, id: string, param?: string): Stripe.Account {
  if (!store.disconnectedAccounts.has(id)) return store.get('account', id, param);
  const message = `The provided key does not have access to account '${id}' (or that account does not exist). Application access may have been revoked.`;
  throw new StripeApiError(403, { code: 'account_invalid', message });
}

/** Reverses a transfer, as the dashboard can. @param amountCents default: the remaining amount. */
export function reverseTransfer(store: StripeStore, transfer: Stripe.Transfer, amountCents?: number): void {
  transfer.amount_reversed += amountCents ?? transfer.amount - transfer.amount_reversed;
  transfer.reversed = transfer.amount_reversed === transfer.amount;
  if (store.balanceCents !== null) store.balanceCents += amountCents ?? transfer.amount;
  store.emit('transfer.reversed', transfer);
}

export interface NewTransfer {
  amount: number;
  currency: string;
  destination: string;
  transferGroup: string | null;
  metadata: Record<string, string>;
}

/**
 * Creates a transfer to a connected account. @throws StripeApiError if the account or the balance does not allow it.
 */
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
