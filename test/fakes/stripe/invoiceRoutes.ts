import type Stripe from 'stripe';
import type { StripeHandler } from './handler.ts';
import { addInvoiceItem, attachPayment, draftOneOffInvoice, finalizeOneOffInvoice } from './oneOffInvoices.ts';
import { getId } from './store.ts';
import { StripeApiError } from './stripeApiError.ts';

type Routes = Record<`${'invoices' | 'invoiceItems'}.${string}`, [string, string, StripeHandler]>;

/** Invoices that are not of a subscription. */
export const invoiceRoutes = {
  'invoices.create': [
    'POST',
    '/v1/invoices',
    (store, params) => {
      params.allowOnly<Stripe.InvoiceCreateParams>(
        'customer',
        'currency',
        'collection_method',
        'auto_advance',
        'pending_invoice_items_behavior',
        'discounts',
        'automatic_tax',
        'metadata',
        'description',
        'expand',
      );
      const customer = store.get('customer', params.required('customer'), 'customer').id;
      if (params.flag('auto_advance') !== false)
        params.reject('auto_advance', 'The fake creates only invoices that are not advanced.');
      const hasTax =
        params.nested('automatic_tax').allowOnly<Stripe.InvoiceCreateParams.AutomaticTax>('enabled').flag('enabled') ===
        true;
      return draftOneOffInvoice(store, { customer, metadata: params.metadata(), hasTax });
    },
  ],
  'invoices.delete': [
    'DELETE',
    '/v1/invoices/:id',
    (store, params, id) => {
      params.allowOnly<Stripe.InvoiceDeleteParams>();
      const invoice = store.get('invoice', id);
      if (invoice.status !== 'draft' || getId(invoice.parent?.subscription_details?.subscription) !== '') {
        const message = 'You can only delete draft invoices that are not of a subscription.';
        throw new StripeApiError(400, { message });
      }
      store.remove(id);
      return { id, object: 'invoice', deleted: true };
    },
  ],
  'invoices.finalize': [
    'POST',
    '/v1/invoices/:id/finalize',
    (store, params, id) => {
      params.allowOnly<Stripe.InvoiceFinalizeInvoiceParams>('auto_advance', 'expand');
      const invoice = store.get('invoice', id);
      finalizeOneOffInvoice(store, invoice);
      return invoice;
    },
  ],
  'invoices.attachPayment': [
    'POST',
    '/v1/invoices/:id/attach_payment',
    (store, params, id) => {
      params.allowOnly<Stripe.InvoiceAttachPaymentParams>('payment_intent', 'expand');
      const intent = store.get('payment_intent', params.required('payment_intent'), 'payment_intent');
      const invoice = store.get('invoice', id);
      attachPayment(store, invoice, intent);
      return invoice;
    },
  ],
  'invoiceItems.create': [
    'POST',
    '/v1/invoiceitems',
    (store, params) => {
      params.allowOnly<Stripe.InvoiceItemCreateParams>(
        'customer',
        'invoice',
        'currency',
        'amount',
        'description',
        'discountable',
        'tax_behavior',
        'metadata',
        'expand',
      );
      const invoice = store.get('invoice', params.required('invoice'), 'invoice');
      if (invoice.status !== 'draft') params.reject('invoice', 'The invoice is not a draft.', 'invoice_not_editable');
      const amount = params.integer('amount') ?? Number(params.required('amount'));
      params.choice('tax_behavior', 'exclusive', 'inclusive', 'unspecified');
      addInvoiceItem(store, invoice, { amount, description: params.text('description') ?? null });
      return { id: store.newId('ii'), object: 'invoiceitem', amount, invoice: invoice.id };
    },
  ],
} satisfies Routes;
