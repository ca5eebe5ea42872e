import type Stripe from 'stripe';
import { getId } from './store.ts';
import { INTERNAL_ERROR } from './stripeApiError.ts';
import { findOrCreateInvoiceIntent, voidInvoice } from './invoices.ts';
import { type ExpandParams, LIST_PARAMS, listObjects, retrieveObject } from './listing.ts';
import { StripeApiError } from './stripeApiError.ts';
import type { StripeHandler } from './handler.ts';
import { cancelAtPeriodEnd, endSubscription, getItem, isEnded, resumeSubscription } from './subscriptions.ts';

type Routes = Record<
  `${'subscriptions' | 'subscriptionSchedules' | 'invoices' | 'invoicePayments' | 'creditNotes'}.${string}`,
  [string, string, StripeHandler]
>;

export const subscriptionRoutes = {
  'subscriptions.retrieve': ['GET', '/v1/subscriptions/:id', retrieveObject('subscription')],
  'subscriptions.list': [
    'GET',
    '/v1/subscriptions',
    (store, params) => {
      params.allowOnly<Stripe.SubscriptionListParams>(
        ...LIST_PARAMS,
        'created',
        'status',
        'customer',
        'price',
        'collection_method',
      );
      const status = params.text('status');
      return listObjects(store, 'subscription', params, '/v1/subscriptions', (subscription) => {
        if (params.has('customer') && getId(subscription.customer) !== params.text('customer')) return false;
        if (params.has('price') && getItem(subscription).price.id !== params.text('price')) return false;
        if (status === undefined) return subscription.status !== 'canceled';
        if (status === 'ended') return isEnded(subscription);
        return status === 'all' || subscription.status === status;
      });
    },
  ],
  'subscriptions.update': [
    'POST',
    '/v1/subscriptions/:id',
    (store, params, id) => {
      params.allowOnly<Stripe.SubscriptionUpdateParams>(
        'items',
        'proration_behavior',
        'cancel_at_period_end',
        'metadata',
        'expand',
      );
      const subscription = store.get('subscription', id);
      if (isEnded(subscription)) params.reject('items', 'A canceled subscription can only update its metadata.');
      for (const [key, value] of Object.entries(params.metadata())) {
        if (value === '') delete subscription.metadata[key];
        else subscription.metadata[key] = value;
      }
      if (params.has('cancel_at_period_end')) {
        if (subscription.schedule !== null)
          params.reject('cancel_at_period_end', 'The subscription is managed by a subscription schedule.');
        if (params.text('cancel_at_period_end') === 'true') cancelAtPeriodEnd(store, subscription);
        else resumeSubscription(store, subscription);
      }
      if (!params.has('items')) return subscription;
      if (params.text('proration_behavior') !== 'none') {
        params.reject('proration_behavior', 'The fake changes prices without proration only.');
      }
      const [change] = params.items('items');
      const item = getItem(subscription);
      if (change?.text('id') !== item.id) params.reject('items', `No such subscription item: '${change?.text('id')}'`);
      item.price = structuredClone(store.get('price', change?.required('price'), 'items[0][price]'));
      store.emit('customer.subscription.updated', subscription);
      return subscription;
    },
  ],
  'subscriptionSchedules.retrieve': [
    'GET',
    '/v1/subscription_schedules/:id',
    (store, params, id) => {
      params.allowOnly<ExpandParams>('expand');
      const subscription = store.list('subscription').find(({ schedule }) => getId(schedule) === id);
      if (subscription === undefined)
        throw new StripeApiError(404, { code: 'resource_missing', message: 'Not found.' });
      const prices = [getItem(subscription).price.id, store.scheduledPrices.get(subscription.id)];
      return { id, object: 'subscription_schedule', phases: prices.map((price) => ({ items: [{ price }] })) };
    },
  ],
  'subscriptionSchedules.release': [
    'POST',
    '/v1/subscription_schedules/:id/release',
    (store, params, id) => {
      params.allowOnly<Stripe.SubscriptionScheduleReleaseParams>('preserve_cancel_date');
      const subscription = store.list('subscription').find(({ schedule }) => getId(schedule) === id);
      if (subscription === undefined)
        throw new StripeApiError(404, { code: 'resource_missing', message: 'Not found.' });
      subscription.schedule = null;
      store.scheduledPrices.delete(subscription.id);
      return { id, object: 'subscription_schedule', status: 'released' };
    },
  ],
  'subscriptions.cancel': [
    'DELETE',
    '/v1/subscriptions/:id',
    (store, params, id) => {
      params.allowOnly<Stripe.SubscriptionCancelParams>('invoice_now', 'prorate', 'cancellation_details', 'expand');
      const subscription = store.find('subscription', id);
      // Stripe does not find an ended subscription here.
      if (subscription === undefined || isEnded(subscription)) {
        throw new StripeApiError(404, {
          code: 'resource_missing',
          param: 'id',
          message: `No such subscription: '${id}'`,
        });
      }
      endSubscription(store, subscription, 'cancellation_requested');
      return subscription;
    },
  ],
  'invoices.retrieve': [
    'GET',
    '/v1/invoices/:id',
    (store, params, id) => {
      if (store.brokenInvoices.has(id)) throw INTERNAL_ERROR;
      return retrieveObject('invoice')(store, params, id);
    },
  ],
  'invoices.list': [
    'GET',
    '/v1/invoices',
    (store, params) => {
      params.allowOnly<Stripe.InvoiceListParams>(...LIST_PARAMS, 'created', 'subscription', 'status', 'customer');
      return listObjects(
        store,
        'invoice',
        params,
        '/v1/invoices',
        (invoice) =>
          (!params.has('status') || invoice.status === params.text('status')) &&
          (!params.has('customer') || getId(invoice.customer) === params.text('customer')) &&
          (!params.has('subscription') ||
            getId(invoice.parent?.subscription_details?.subscription) === params.text('subscription')),
      );
    },
  ],
  'invoices.void': [
    'POST',
    '/v1/invoices/:id/void',
    (store, params, id) => {
      params.allowOnly<Stripe.InvoiceVoidInvoiceParams>('expand');
      const invoice = store.get('invoice', id);
      if (invoice.status !== 'open') {
        throw new StripeApiError(400, { message: `You can only pass in open invoices. This invoice isn't open.` });
      }
      const intent = findOrCreateInvoiceIntent(store, invoice);
      if (intent.status === 'processing') {
        throw new StripeApiError(400, { message: 'This invoice has a payment that is being processed.' });
      }
      voidInvoice(store, invoice);
      return invoice;
    },
  ],
  'invoicePayments.list': [
    'GET',
    '/v1/invoice_payments',
    (store, params) => {
      params.allowOnly<Stripe.InvoicePaymentListParams>(...LIST_PARAMS, 'created', 'invoice', 'payment', 'status');
      const payment = params
        .nested('payment')
        .allowOnly<Stripe.InvoicePaymentListParams.Payment>('type', 'payment_intent', 'payment_record');
      if (params.has('payment')) payment.required('type');
      return listObjects(
        store,
        'invoice_payment',
        params,
        '/v1/invoice_payments',
        (entry) =>
          (!params.has('invoice') || getId(entry.invoice) === params.text('invoice')) &&
          (!params.has('status') || entry.status === params.text('status')) &&
          (!payment.has('payment_intent') || getId(entry.payment.payment_intent) === payment.text('payment_intent')),
      );
    },
  ],
  'creditNotes.retrieve': ['GET', '/v1/credit_notes/:id', retrieveObject('credit_note')],
  'creditNotes.list': [
    'GET',
    '/v1/credit_notes',
    (store, params) => {
      params.allowOnly<Stripe.CreditNoteListParams>(...LIST_PARAMS, 'created', 'invoice', 'customer');
      return listObjects(
        store,
        'credit_note',
        params,
        '/v1/credit_notes',
        (note) => !params.has('invoice') || getId(note.invoice) === params.text('invoice'),
      );
    },
  ],
} satisfies Routes;
