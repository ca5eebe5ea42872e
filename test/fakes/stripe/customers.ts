import type Stripe from 'stripe';
import { type StripeStore, type CardBehavior, getId, fromFields } from './store.ts';

export function addCustomer(
  store: StripeStore,
  email: string | null,
  metadata: Record<string, string>,
): Stripe.Customer {
  return store.add<'customer'>(
    fromFields<Stripe.Customer>({
      id: store.newId('cus'),
      object: 'customer',
      address: null,
      balance: 0,
      created: store.now(),
      currency: null,
      default_source: null,
      delinquent: false,
      description: null,
      email,
      invoice_prefix: 'STANDIN',
      invoice_settings: { custom_fields: null, default_payment_method: null, footer: null, rendering_options: null },
      livemode: false,
      metadata,
      name: null,
      phone: null,
      preferred_locales: [],
      shipping: null,
      tax_exempt: 'none',
      test_clock: null,
    }),
  );
}

export function addPaymentMethod(
  store: StripeStore,
  customerId: string | null,
  card: CardBehavior = 'ok',
): Stripe.PaymentMethod {
  const method = store.add<'payment_method'>(
    fromFields<Stripe.PaymentMethod>({
      id: store.newId('pm'),
      object: 'payment_method',
      allow_redisplay: 'limited',
      billing_details: { address: null, email: null, name: null, phone: null, tax_id: null },
      card: fromFields<Stripe.PaymentMethod.Card>({
        brand: 'visa',
        country: 'US',
        exp_month: 12,
        exp_year: 2040,
        last4: '4242',
      }),
      created: store.now(),
      customer: customerId,
      livemode: false,
      metadata: {},
      type: 'card',
    }),
  );
  store.cards.set(method.id, card);
  if (customerId !== null) store.emit('payment_method.attached', method);
  return method;
}

/** Returns a customer's payment methods, newest first. */
export function listPaymentMethods(store: StripeStore, customerId: string): Stripe.PaymentMethod[] {
  return store.list('payment_method').filter(({ customer }) => customer === customerId);
}

/** Detaches a payment method, which can never be used again. */
export function detachPaymentMethod(store: StripeStore, method: Stripe.PaymentMethod): void {
  const customer = store.find('customer', getId(method.customer));
  method.customer = null;
  store.emit('payment_method.detached', method, { customer: customer?.id });
  if (customer !== undefined && getId(customer.invoice_settings.default_payment_method) === method.id) {
    customer.invoice_settings.default_payment_method = null;
    store.emit('customer.updated', customer);
  }
  for (const subscription of store.list('subscription')) {
    if (getId(subscription.default_payment_method) === method.id) subscription.default_payment_method = null;
  }
}

/** Returns the payment method that pays a subscription. */
export function findPaymentMethodId(store: StripeStore, subscription: Stripe.Subscription): string | null {
  const customer = store.get('customer', getId(subscription.customer));
  return getId(subscription.default_payment_method) || getId(customer.invoice_settings.default_payment_method) || null;
}
