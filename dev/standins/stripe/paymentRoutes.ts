import type Stripe from 'stripe';
import { type Books, idIn } from './books.ts';
import type { Params } from './form.ts';
import { PAGE_PARAMS, page, retrieve } from './pages.ts';
import { addIntent, confirm, declineOf } from './payments.ts';
import { Refusal } from './refusal.ts';
import { chargeBehind, refund } from './reversals.ts';
import type { Handler } from './routes.ts';

type Routes = Record<
  `${'intents' | 'charges' | 'disputes' | 'refunds' | 'events'}.${string}`,
  [string, string, Handler]
>;

export const paymentRoutes = {
  'intents.create': ['POST', '/v1/payment_intents', chargeAbsent],
  'intents.retrieve': ['GET', '/v1/payment_intents/:id', retrieve('payment_intent')],
  'intents.list': [
    'GET',
    '/v1/payment_intents',
    (books, params) => {
      params.only(...PAGE_PARAMS, 'customer');
      const customer = params.text('customer');
      return page(
        books,
        'payment_intent',
        params,
        '/v1/payment_intents',
        (intent) => customer === undefined || idIn(intent.customer) === customer,
      );
    },
  ],
  'refunds.create': [
    'POST',
    '/v1/refunds',
    (books, params) => {
      params.only('payment_intent', 'charge', 'amount', 'reason', 'metadata', 'expand');
      const intent = books.get('payment_intent', params.required('payment_intent'), 'payment_intent');
      const charge = chargeBehind(books, intent.id);
      if (charge.refunded) {
        const message = `Charge ${charge.id} has already been refunded.`;
        throw new Refusal(400, { code: 'charge_already_refunded', message });
      }
      if (charge.disputed) {
        const message = `Charge ${charge.id} has been charged back; cannot issue a refund.`;
        throw new Refusal(400, { code: 'charge_disputed', message });
      }
      return refund(books, intent.id, params.integer('amount'));
    },
  ],
  'refunds.retrieve': ['GET', '/v1/refunds/:id', retrieve('refund')],
  'events.list': [
    'GET',
    '/v1/events',
    (books, params) => {
      params.only(...PAGE_PARAMS, 'types', 'type');
      const types = params.texts('types');
      if (types.length > 20) params.refuse('types', 'You may specify at most 20 types.');
      return page(books, 'event', params, '/v1/events', ({ type }) => types.length === 0 || types.includes(type));
    },
  ],
  'charges.retrieve': ['GET', '/v1/charges/:id', retrieve('charge')],
  'disputes.retrieve': ['GET', '/v1/disputes/:id', retrieve('dispute')],
  'disputes.list': [
    'GET',
    '/v1/disputes',
    (books, params) => {
      params.only(...PAGE_PARAMS, 'charge', 'payment_intent');
      return page(
        books,
        'dispute',
        params,
        '/v1/disputes',
        (dispute) =>
          (!params.has('charge') || idIn(dispute.charge) === params.text('charge')) &&
          (!params.has('payment_intent') || idIn(dispute.payment_intent) === params.text('payment_intent')),
      );
    },
  ],
} satisfies Routes;

const CHARGE_FIELDS = `amount currency customer payment_method off_session confirm metadata expand description
  receipt_email statement_descriptor_suffix error_on_requires_action payment_method_types automatic_payment_methods`.split(
  /\s+/,
);

/** A payment that is made and charged at once, the customer being away. */
function chargeAbsent(books: Books, params: Params): Stripe.PaymentIntent {
  params.only(...CHARGE_FIELDS);
  const amount = params.integer('amount') ?? Number(params.required('amount'));
  params.required('currency');
  if (amount < 50) params.refuse('amount', 'Amount must be at least $0.50 usd', 'amount_too_small');
  if (amount > 99_999_999) params.refuse('amount', 'Amount must be no more than $999,999.99', 'amount_too_large');
  if (params.flag('confirm') !== true || params.flag('off_session') !== true) {
    params.refuse('confirm', 'The stand-in makes payments only if they are confirmed at once, off session.');
  }
  // As an account answers that takes payment methods by redirects, too.
  if (params.at('automatic_payment_methods').text('allow_redirects') !== 'never') {
    params.refuse(
      'return_url',
      'This PaymentIntent is configured to accept payment methods enabled in your Dashboard. Because some of these payment methods might redirect your customer off of your page, you must provide a `return_url`.',
    );
  }
  const customer = books.get('customer', params.required('customer'), 'customer').id;
  const method = books.get('payment_method', params.required('payment_method'), 'payment_method');
  if (method.customer === null) {
    const message =
      'The provided PaymentMethod was previously used with a PaymentIntent without Customer attachment, shared with a connected account without Customer attachment, or was detached from a Customer. It may not be used again.';
    params.refuse('payment_method', message);
  }
  if (method.customer !== customer) {
    params.refuse(
      'payment_method',
      `The customer does not have a payment method with the ID ${method.id}.`,
      'resource_missing',
    );
  }
  const intent = addIntent(books, { amount, customer, currency: params.text('currency'), metadata: params.metadata() });
  if (!confirm(books, intent, method.id, books.cards.get(method.id) ?? 'ok')) throw declineOf(books, intent);
  return intent;
}
