import type Stripe from 'stripe';
import { type Books, type Card, idIn, made } from './books.ts';

export function addCustomer(books: Books, email: string | null, metadata: Record<string, string>): Stripe.Customer {
  return books.add<'customer'>(
    made<Stripe.Customer>({
      id: books.newId('cus'),
      object: 'customer',
      address: null,
      balance: 0,
      created: books.now(),
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

export function addPaymentMethod(books: Books, customerId: string | null, card: Card = 'ok'): Stripe.PaymentMethod {
  const method = books.add<'payment_method'>(
    made<Stripe.PaymentMethod>({
      id: books.newId('pm'),
      object: 'payment_method',
      allow_redisplay: 'limited',
      billing_details: { address: null, email: null, name: null, phone: null, tax_id: null },
      card: made<Stripe.PaymentMethod.Card>({
        brand: 'visa',
        country: 'US',
        exp_month: 12,
        exp_year: 2040,
        last4: '4242',
      }),
      created: books.now(),
      customer: customerId,
      livemode: false,
      metadata: {},
      type: 'card',
    }),
  );
  books.cards.set(method.id, card);
  if (customerId !== null) books.tell('payment_method.attached', method);
  return method;
}

/** The newest first. */
export function paymentMethodsOf(books: Books, customerId: string): Stripe.PaymentMethod[] {
  return books.list('payment_method').filter(({ customer }) => customer === customerId);
}

/** Takes it from the customer; it may never be used again. */
export function detach(books: Books, method: Stripe.PaymentMethod): void {
  const customer = books.find('customer', idIn(method.customer));
  method.customer = null;
  books.tell('payment_method.detached', method, { customer: customer?.id });
  if (customer !== undefined && idIn(customer.invoice_settings.default_payment_method) === method.id) {
    customer.invoice_settings.default_payment_method = null;
    books.tell('customer.updated', customer);
  }
  for (const subscription of books.list('subscription')) {
    if (idIn(subscription.default_payment_method) === method.id) subscription.default_payment_method = null;
  }
}

/** What a subscription is paid with. */
export function payingMethodOf(books: Books, subscription: Stripe.Subscription): string | null {
  const customer = books.get('customer', idIn(subscription.customer));
  return idIn(subscription.default_payment_method) || idIn(customer.invoice_settings.default_payment_method) || null;
}
