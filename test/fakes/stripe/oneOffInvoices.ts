import type Stripe from 'stripe';
import { type StripeStore, fromFields, getId, toApiList } from './store.ts';
import { finalizeInvoice, markInvoicePaid } from './invoices.ts';
import { computeTax } from './pageAmounts.ts';
import { addPaymentIntent, confirmIntent } from './paymentIntents.ts';
import { addPaymentMethod } from './customers.ts';
import { StripeApiError } from './stripeApiError.ts';

export interface NewOneOffInvoice {
  customer: string;
  metadata: Record<string, string>;
  hasTax: boolean;
}

/** Adds a draft that is not of a subscription. */
export function draftOneOffInvoice(store: StripeStore, fields: NewOneOffInvoice): Stripe.Invoice {
  const id = store.newId('in');
  return store.add<'invoice'>(
    fromFields<Stripe.Invoice>({
      id,
      object: 'invoice',
      amount_due: 0,
      amount_paid: 0,
      amount_remaining: 0,
      attempt_count: 0,
      attempted: false,
      auto_advance: false,
      automatic_tax: fromFields<Stripe.Invoice.AutomaticTax>({
        enabled: fields.hasTax,
        status: fields.hasTax ? 'requires_location_inputs' : null,
      }),
      billing_reason: 'manual',
      collection_method: 'charge_automatically',
      created: store.now(),
      currency: 'usd',
      customer: fields.customer,
      discounts: [],
      lines: toApiList<Stripe.InvoiceLineItem>([], `/v1/invoices/${id}/lines`),
      livemode: false,
      metadata: fields.metadata,
      number: null,
      parent: null,
      post_payment_credit_notes_amount: 0,
      starting_balance: 0,
      status: 'draft',
      status_transitions: { finalized_at: null, marked_uncollectible_at: null, paid_at: null, voided_at: null },
      subtotal: 0,
      total: 0,
      total_discount_amounts: [],
      total_excluding_tax: 0,
      total_taxes: [],
    }),
  );
}

export interface NewInvoiceItem {
  amount: number;
  description: string | null;
  discount?: number;
  /** The tax that was computed before; otherwise it is computed now. */
  tax?: number;
}

/** Adds an item to a draft and computes its total. */
export function addInvoiceItem(store: StripeStore, invoice: Stripe.Invoice, item: NewInvoiceItem): void {
  const { amount, description, discount = 0 } = item;
  invoice.lines.data.push(
    fromFields<Stripe.InvoiceLineItem>({
      id: store.newId('il'),
      object: 'line_item',
      amount,
      currency: 'usd',
      description,
      metadata: {},
      period: { start: store.now(), end: store.now() },
      pricing: null,
      quantity: 1,
      subtotal: amount,
    }),
  );
  const customer = store.get('customer', getId(invoice.customer));
  const isTaxable = invoice.automatic_tax.enabled && customer.address !== null;
  if (isTaxable) invoice.automatic_tax.status = 'complete';
  const net = invoice.subtotal + amount - discount;
  const tax = item.tax ?? (isTaxable ? computeTax(store, net) : 0);
  Object.assign(invoice, {
    subtotal: invoice.subtotal + amount,
    total_discount_amounts: discount === 0 ? [] : [{ amount: discount, discount: 'di_standin' }],
    total_excluding_tax: net,
  });
  setTotals(invoice, tax);
}

/** Adds tax to the net amount of a draft. */
function setTotals(invoice: Stripe.Invoice, tax: number): void {
  const total = (invoice.total_excluding_tax ?? 0) + tax;
  const total_taxes = tax === 0 ? [] : [{ amount: tax, tax_behavior: 'exclusive' }];
  Object.assign(invoice, { total_taxes, total, amount_due: total, amount_remaining: total });
}

/** Finalizes a draft: tax is computed again, and the balance of the customer is applied. */
export function finalizeOneOffInvoice(store: StripeStore, invoice: Stripe.Invoice): void {
  if (invoice.status !== 'draft') {
    const message = "This invoice is already finalized, you can't re-finalize a non-draft invoice.";
    throw new StripeApiError(400, { code: 'invoice_already_finalized', message });
  }
  if (invoice.automatic_tax.enabled && invoice.automatic_tax.status !== 'complete') {
    const message = "The customer's location isn't recognized.";
    throw new StripeApiError(400, { code: 'customer_tax_location_invalid', message });
  }
  if (invoice.automatic_tax.enabled) setTotals(invoice, computeTax(store, invoice.total_excluding_tax ?? 0));
  const customer = store.get('customer', getId(invoice.customer));
  const applied = Math.min(invoice.total, Math.max(0, -customer.balance));
  customer.balance += applied;
  invoice.starting_balance = -applied;
  invoice.amount_due = invoice.total - applied;
  invoice.amount_remaining = invoice.amount_due;
  finalizeInvoice(store, invoice);
  if (invoice.amount_due === 0) markInvoicePaid(store, invoice, null);
}

/** Records a payment on an open invoice, which pays it if it covers what remains. */
export function attachPayment(store: StripeStore, invoice: Stripe.Invoice, intent: Stripe.PaymentIntent): void {
  if (invoice.status !== 'open')
    throw new StripeApiError(400, { message: `A payment can be attached to an open invoice only: ${invoice.status}.` });
  if (getId(intent.customer) !== getId(invoice.customer))
    throw new StripeApiError(400, { message: 'The PaymentIntent belongs to another customer.' });
  if (store.list('invoice_payment').some(({ payment }) => getId(payment.payment_intent) === intent.id))
    throw new StripeApiError(400, { message: 'The PaymentIntent is attached to an invoice already.' });
  if (intent.status !== 'succeeded' || intent.amount_received < invoice.amount_remaining)
    throw new StripeApiError(400, { message: 'The fake attaches payments that pay the whole invoice only.' });
  markInvoicePaid(store, invoice, intent);
}

/** Creates the invoice of a page after its payment. Balances of the customer are not applied to it. */
export function issuePageInvoice(
  store: StripeStore,
  session: Stripe.Checkout.Session,
  intent: Stripe.PaymentIntent | null,
): void {
  const page = store.checkoutParams.get(session.id);
  if (page?.invoiceMetadata == null) return;
  const { invoiceMetadata: metadata, hasTax } = page;
  const invoice = draftOneOffInvoice(store, { customer: getId(session.customer), metadata, hasTax });
  addInvoiceItem(store, invoice, {
    amount: session.amount_subtotal ?? 0,
    description: null,
    discount: session.total_details?.amount_discount ?? 0,
    tax: session.total_details?.amount_tax ?? 0,
  });
  session.invoice = invoice.id;
  markInvoicePaid(store, invoice, intent);
}

/** Pays an open invoice on its page, as the customer can. */
export function payOpenInvoice(store: StripeStore, invoice: Stripe.Invoice): void {
  if (invoice.status !== 'open') throw new Error(`${invoice.id} is ${invoice.status}: it cannot be paid.`);
  const customer = getId(invoice.customer);
  const intent = addPaymentIntent(store, { amount: invoice.amount_remaining, customer });
  confirmIntent(store, intent, addPaymentMethod(store, null).id, 'ok');
  markInvoicePaid(store, invoice, intent);
}
