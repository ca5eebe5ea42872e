import type Stripe from 'stripe';
import { type StripeStore, type CardBehavior, getId, fromFields } from './store.ts';
import { StripeApiError } from './stripeApiError.ts';

export interface NewIntent {
  amount: number;
  currency?: string;
  customer: string;
  metadata?: Record<string, string>;
  setupFutureUsage?: boolean;
}

export function addPaymentIntent(store: StripeStore, fields: NewIntent): Stripe.PaymentIntent {
  const id = store.newId('pi');
  return store.add<'payment_intent'>(
    fromFields<Stripe.PaymentIntent>({
      id,
      object: 'payment_intent',
      amount: fields.amount,
      amount_capturable: 0,
      amount_received: 0,
      application: null,
      automatic_payment_methods: { allow_redirects: 'never', enabled: true },
      canceled_at: null,
      cancellation_reason: null,
      capture_method: 'automatic_async',
      client_secret: `${id}_secret_standin`,
      confirmation_method: 'automatic',
      created: store.now(),
      currency: fields.currency ?? 'usd',
      customer: fields.customer,
      description: null,
      last_payment_error: null,
      latest_charge: null,
      livemode: false,
      metadata: fields.metadata ?? {},
      next_action: null,
      payment_method: null,
      payment_method_types: ['card'],
      processing: null,
      receipt_email: null,
      setup_future_usage: fields.setupFutureUsage === true ? 'off_session' : null,
      status: 'requires_payment_method',
    }),
  );
}

/** Charges a payment. @returns whether the bank accepted it, at once or for processing. */
export function confirmIntent(
  store: StripeStore,
  intent: Stripe.PaymentIntent,
  methodId: string,
  card: CardBehavior,
): boolean {
  if (intent.status === 'succeeded') {
    throw new StripeApiError(400, {
      code: 'payment_intent_unexpected_state',
      message: 'This payment has succeeded already.',
    });
  }
  if (card === 'processing') {
    startProcessingIntent(store, intent, methodId);
    return true;
  }
  const charge = addCharge(store, intent, methodId, card);
  intent.latest_charge = charge.id;
  if (card === 'ok') succeedIntent(store, intent, methodId);
  else failIntent(store, intent, methodId, card);
  return card === 'ok';
}

export function succeedIntent(store: StripeStore, intent: Stripe.PaymentIntent, methodId: string): void {
  const charge = store.get('charge', getId(intent.latest_charge));
  Object.assign(charge, { status: 'succeeded', paid: true, captured: true, amount_captured: charge.amount });
  intent.status = 'succeeded';
  intent.amount_received = intent.amount;
  intent.payment_method = methodId;
  intent.last_payment_error = null;
  store.emit('payment_intent.succeeded', intent);
}

export function failIntent(
  store: StripeStore,
  intent: Stripe.PaymentIntent,
  methodId: string,
  card: CardBehavior,
): void {
  const charge = store.get('charge', getId(intent.latest_charge));
  const why = getDeclineDetails(card);
  Object.assign(charge, { status: 'failed', paid: false, failure_code: why.code, failure_message: why.message });
  intent.status = 'requires_payment_method';
  intent.payment_method = null;
  intent.last_payment_error = fromFields<Stripe.PaymentIntent.LastPaymentError>({
    type: 'card_error',
    ...why,
    charge: charge.id,
    payment_method: structuredClone(store.find('payment_method', methodId)),
  });
  store.emit('payment_intent.payment_failed', intent);
}

/** Starts the verification of a bank account by micro-deposits, before it is charged. */
export function startVerification(intent: Stripe.PaymentIntent, methodId: string): void {
  intent.status = 'requires_action';
  intent.payment_method = methodId;
  intent.next_action = fromFields<Stripe.PaymentIntent.NextAction>({ type: 'verify_with_microdeposits' });
}

/** Starts a payment that the bank processes for days. */
export function startProcessingIntent(store: StripeStore, intent: Stripe.PaymentIntent, methodId: string): void {
  const charge = addCharge(store, intent, methodId, 'processing');
  intent.latest_charge = charge.id;
  intent.status = 'processing';
  intent.payment_method = methodId;
}

/** Returns Stripe's error for a payment that was declined when it was created. */
export function buildDeclineError(store: StripeStore, intent: Stripe.PaymentIntent): StripeApiError {
  const { code, decline_code, message = '', charge } = intent.last_payment_error ?? {};
  const method = intent.last_payment_error?.payment_method;
  const payment_intent = structuredClone(intent);
  return new StripeApiError(402, {
    type: 'card_error',
    code,
    decline_code,
    message,
    charge,
    payment_intent,
    payment_method: method,
  });
}

function getDeclineDetails(card: CardBehavior): { code: string; decline_code: string; message: string } {
  if (card === 'authentication_required') {
    const message = 'Your card was declined. This transaction requires authentication.';
    return { code: 'authentication_required', decline_code: 'authentication_required', message };
  }
  return { code: 'card_declined', decline_code: 'generic_decline', message: 'Your card was declined.' };
}

function addCharge(
  store: StripeStore,
  intent: Stripe.PaymentIntent,
  methodId: string,
  card: CardBehavior,
): Stripe.Charge {
  return store.add<'charge'>(
    fromFields<Stripe.Charge>({
      id: store.newId('ch'),
      object: 'charge',
      amount: intent.amount,
      amount_captured: 0,
      amount_refunded: 0,
      application: null,
      // A bank debit has one before the bank has paid.
      balance_transaction: card === 'ok' || card === 'processing' ? store.newId('txn') : null,
      billing_details: { address: null, email: null, name: null, phone: null, tax_id: null },
      captured: false,
      created: store.now(),
      currency: intent.currency,
      customer: getId(intent.customer),
      description: null,
      disputed: false,
      failure_code: null,
      failure_message: null,
      livemode: false,
      metadata: { ...intent.metadata },
      paid: false,
      payment_intent: intent.id,
      payment_method: methodId,
      payment_method_details: { type: card === 'processing' ? 'us_bank_account' : 'card' },
      receipt_email: null,
      refunded: false,
      status: 'pending',
    }),
  );
}
