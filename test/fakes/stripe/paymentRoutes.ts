import type Stripe from 'stripe';
import { type StripeStore, getId } from './store.ts';
import type { StripeParams } from './params.ts';
import { LIST_PARAMS, listObjects, retrieveObject } from './listing.ts';
import { addPaymentIntent, confirmIntent, buildDeclineError } from './paymentIntents.ts';
import { createRefund } from './reversals.ts';
import type { StripeHandler } from './handler.ts';

type Routes = Record<
  `${'intents' | 'charges' | 'disputes' | 'refunds' | 'events'}.${string}`,
  [string, string, StripeHandler]
>;

/** Events are listed for 30 days. */
const EVENT_RETENTION_SECONDS = 30 * 86_400;

export const paymentRoutes = {
  'intents.create': ['POST', '/v1/payment_intents', chargeOffSession],
  'intents.retrieve': ['GET', '/v1/payment_intents/:id', retrieveObject('payment_intent')],
  'intents.list': [
    'GET',
    '/v1/payment_intents',
    (store, params) => {
      params.allowOnly<Stripe.PaymentIntentListParams>(...LIST_PARAMS, 'created', 'customer');
      const customer = params.text('customer');
      if (customer !== undefined && !store.deletedCustomers.has(customer)) store.get('customer', customer, 'customer');
      return listObjects(
        store,
        'payment_intent',
        params,
        '/v1/payment_intents',
        (intent) => customer === undefined || getId(intent.customer) === customer,
      );
    },
  ],
  'refunds.create': [
    'POST',
    '/v1/refunds',
    (store, params) => {
      params.allowOnly<Stripe.RefundCreateParams>('payment_intent', 'charge', 'amount', 'reason', 'metadata', 'expand');
      const reference = params.has('charge')
        ? store.get('charge', params.text('charge'), 'charge')
        : store.get('payment_intent', params.required('payment_intent'), 'payment_intent');
      return createRefund(store, reference.id, params.integer('amount'));
    },
  ],
  'refunds.list': [
    'GET',
    '/v1/refunds',
    (store, params) => {
      params.allowOnly<Stripe.RefundListParams>(...LIST_PARAMS, 'created', 'charge', 'payment_intent');
      return listObjects(store, 'refund', params, '/v1/refunds', (refund) => isOfPayment(refund, params));
    },
  ],
  'refunds.retrieve': ['GET', '/v1/refunds/:id', retrieveObject('refund')],
  'events.list': [
    'GET',
    '/v1/events',
    (store, params) => {
      params.allowOnly<Stripe.EventListParams>(...LIST_PARAMS, 'created', 'types');
      const types = params.texts('types');
      if (types.length > 20) params.reject('types', 'You may specify at most 20 types.');
      return listObjects(
        store,
        'event',
        params,
        '/v1/events',
        ({ type, created }) =>
          created > store.now() - EVENT_RETENTION_SECONDS && (types.length === 0 || types.includes(type)),
      );
    },
  ],
  'charges.retrieve': ['GET', '/v1/charges/:id', retrieveObject('charge')],
  'disputes.retrieve': ['GET', '/v1/disputes/:id', retrieveObject('dispute')],
  'disputes.list': [
    'GET',
    '/v1/disputes',
    (store, params) => {
      params.allowOnly<Stripe.DisputeListParams>(...LIST_PARAMS, 'created', 'charge', 'payment_intent');
      return listObjects(store, 'dispute', params, '/v1/disputes', (dispute) => isOfPayment(dispute, params));
    },
  ],
} satisfies Routes;

/** Returns whether a refund or a dispute is of the charge or payment that a list is restricted to. */
function isOfPayment(
  { charge, payment_intent: intent }: Pick<Stripe.Refund, 'charge' | 'payment_intent'>,
  params: StripeParams,
): boolean {
  return (
    (!params.has('charge') || getId(charge) === params.text('charge')) &&
    (!params.has('payment_intent') || getId(intent) === params.text('payment_intent'))
  );
}

const CHARGE_FIELDS = [
  'amount',
  'currency',
  'customer',
  'payment_method',
  'off_session',
  'confirm',
  'metadata',
  'expand',
  'description',
  'receipt_email',
  'statement_descriptor_suffix',
  'error_on_requires_action',
  'automatic_payment_methods',
] as const;

/** Creates and charges a payment without the customer present. */
function chargeOffSession(store: StripeStore, params: StripeParams): Stripe.PaymentIntent {
  params.allowOnly<Stripe.PaymentIntentCreateParams>(...CHARGE_FIELDS);
  const amount = params.integer('amount') ?? Number(params.required('amount'));
  params.required('currency');
  if (amount < 50) params.reject('amount', 'Amount must be at least $0.50 usd', 'amount_too_small');
  if (amount > 99_999_999) params.reject('amount', 'Amount must be no more than $999,999.99', 'amount_too_large');
  if (params.flag('confirm') !== true || params.flag('off_session') !== true) {
    params.reject('confirm', 'The fake creates only off-session payments that are confirmed immediately.');
  }
  // As for an account that also accepts redirect-based payment methods.
  if (params.nested('automatic_payment_methods').text('allow_redirects') !== 'never') {
    params.reject(
      'return_url',
      'This PaymentIntent is configured to accept payment methods enabled in your Dashboard. Because some of these payment methods might redirect your customer off of your page, you must provide a `return_url`.',
    );
  }
  const customer = store.get('customer', params.required('customer'), 'customer').id;
  const method = store.get('payment_method', params.required('payment_method'), 'payment_method');
  if (method.customer === null) {
    const message =
      'The provided PaymentMethod was previously used with a PaymentIntent without Customer attachment, shared with a connected account without Customer attachment, or was detached from a Customer. It may not be used again.';
    params.reject('payment_method', message);
  }
  if (method.customer !== customer) {
    params.reject(
      'payment_method',
      `The customer does not have a payment method with the ID ${method.id}.`,
      'resource_missing',
    );
  }
  const intent = addPaymentIntent(store, {
    amount,
    customer,
    currency: params.text('currency'),
    metadata: params.metadata(),
  });
  if (!confirmIntent(store, intent, method.id, store.cards.get(method.id) ?? 'ok'))
    throw buildDeclineError(store, intent);
  return intent;
}
