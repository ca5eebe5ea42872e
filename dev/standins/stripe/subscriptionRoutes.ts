import { idIn } from './books.ts';
import { BROKEN } from './faults.ts';
import { intentOf, voidInvoice } from './invoices.ts';
import { PAGE_PARAMS, page, retrieve } from './pages.ts';
import { Refusal } from './refusal.ts';
import type { Handler } from './routes.ts';
import { end, isOver, itemOf } from './subscriptions.ts';

type Routes = Record<
  `${'subscriptions' | 'invoices' | 'invoicePayments' | 'creditNotes'}.${string}`,
  [string, string, Handler]
>;

export const subscriptionRoutes = {
  'subscriptions.retrieve': ['GET', '/v1/subscriptions/:id', retrieve('subscription')],
  'subscriptions.list': [
    'GET',
    '/v1/subscriptions',
    (books, params) => {
      params.only(...PAGE_PARAMS, 'status', 'customer', 'price', 'collection_method');
      const status = params.text('status');
      return page(books, 'subscription', params, '/v1/subscriptions', (subscription) => {
        if (params.has('customer') && idIn(subscription.customer) !== params.text('customer')) return false;
        if (params.has('price') && itemOf(subscription).price.id !== params.text('price')) return false;
        if (status === undefined) return subscription.status !== 'canceled';
        if (status === 'ended') return isOver(subscription);
        return status === 'all' || subscription.status === status;
      });
    },
  ],
  'subscriptions.update': [
    'POST',
    '/v1/subscriptions/:id',
    (books, params, id) => {
      params.only('items', 'proration_behavior', 'expand');
      const subscription = books.get('subscription', id);
      if (isOver(subscription)) params.refuse('items', 'A canceled subscription can only update its metadata.');
      if (params.text('proration_behavior') !== 'none') {
        params.refuse('proration_behavior', 'The fake changes prices without proration only.');
      }
      const [change] = params.items('items');
      const item = itemOf(subscription);
      if (change?.text('id') !== item.id) params.refuse('items', `No such subscription item: '${change?.text('id')}'`);
      item.price = structuredClone(books.get('price', change?.required('price'), 'items[0][price]'));
      books.tell('customer.subscription.updated', subscription);
      return subscription;
    },
  ],
  'subscriptions.cancel': [
    'DELETE',
    '/v1/subscriptions/:id',
    (books, params, id) => {
      params.only('invoice_now', 'prorate', 'cancellation_details', 'expand');
      const subscription = books.find('subscription', id);
      // What is over is unknown to this request.
      if (subscription === undefined || isOver(subscription)) {
        throw new Refusal(404, { code: 'resource_missing', param: 'id', message: `No such subscription: '${id}'` });
      }
      end(books, subscription, 'cancellation_requested');
      return subscription;
    },
  ],
  'invoices.retrieve': [
    'GET',
    '/v1/invoices/:id',
    (books, params, id) => {
      if (books.broken.has(id)) throw BROKEN;
      return retrieve('invoice')(books, params, id);
    },
  ],
  'invoices.list': [
    'GET',
    '/v1/invoices',
    (books, params) => {
      params.only(...PAGE_PARAMS, 'subscription', 'status', 'customer');
      return page(
        books,
        'invoice',
        params,
        '/v1/invoices',
        (invoice) =>
          (!params.has('status') || invoice.status === params.text('status')) &&
          (!params.has('subscription') ||
            idIn(invoice.parent?.subscription_details?.subscription) === params.text('subscription')),
      );
    },
  ],
  'invoices.void': [
    'POST',
    '/v1/invoices/:id/void',
    (books, _params, id) => {
      const invoice = books.get('invoice', id);
      if (invoice.status !== 'open') {
        throw new Refusal(400, { message: `You can only pass in open invoices. This invoice isn't open.` });
      }
      const intent = intentOf(books, invoice);
      if (intent.status === 'processing') {
        throw new Refusal(400, { message: 'This invoice has a payment that is being processed.' });
      }
      voidInvoice(books, invoice);
      return invoice;
    },
  ],
  'invoicePayments.list': [
    'GET',
    '/v1/invoice_payments',
    (books, params) => {
      params.only(...PAGE_PARAMS, 'invoice', 'payment', 'status');
      const payment = params.at('payment').only('type', 'payment_intent', 'payment_record');
      if (params.has('payment')) payment.required('type');
      return page(
        books,
        'invoice_payment',
        params,
        '/v1/invoice_payments',
        (entry) =>
          (!params.has('invoice') || idIn(entry.invoice) === params.text('invoice')) &&
          (!params.has('status') || entry.status === params.text('status')) &&
          (!payment.has('payment_intent') || idIn(entry.payment.payment_intent) === payment.text('payment_intent')),
      );
    },
  ],
  'creditNotes.retrieve': ['GET', '/v1/credit_notes/:id', retrieve('credit_note')],
  'creditNotes.list': [
    'GET',
    '/v1/credit_notes',
    (books, params) => {
      params.only(...PAGE_PARAMS, 'invoice', 'customer');
      return page(
        books,
        'credit_note',
        params,
        '/v1/credit_notes',
        (note) => !params.has('invoice') || idIn(note.invoice) === params.text('invoice'),
      );
    },
  ],
} satisfies Routes;
