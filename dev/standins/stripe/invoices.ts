import type Stripe from 'stripe';
import { type Books, type Card, idIn, listOf, made } from './books.ts';
import { payingMethodOf } from './customers.ts';
import { addIntent, confirm } from './payments.ts';

export interface NewInvoice {
  reason: 'subscription_create' | 'subscription_cycle' | 'subscription_update';
  /** In cents; below zero, it is put on the customer's balance. */
  total: number;
  /** In seconds. */
  period: { start: number; end: number };
}

/** Writes an invoice that nobody was asked to pay yet. */
export function draftInvoice(books: Books, subscription: Stripe.Subscription, order: NewInvoice): Stripe.Invoice {
  const item = subscription.items.data[0];
  const id = books.newId('in');
  const { total, discount, tax } = amountsOf(books, order);
  const due = Math.max(0, total);
  const invoice = books.add<'invoice'>(
    made<Stripe.Invoice>({
      id,
      object: 'invoice',
      amount_due: due,
      amount_paid: 0,
      amount_remaining: due,
      attempt_count: 0,
      attempted: false,
      auto_advance: true,
      billing_reason: order.reason,
      collection_method: 'charge_automatically',
      created: books.now(),
      currency: 'usd',
      customer: idIn(subscription.customer),
      default_payment_method: null,
      discounts: [],
      lines: listOf([lineOf(subscription, order, books)], `/v1/invoices/${id}/lines`),
      livemode: false,
      metadata: {},
      number: null,
      parent: {
        type: 'subscription_details',
        quote_details: null,
        schedule_details: null,
        subscription_details: { subscription: subscription.id, metadata: { ...subscription.metadata } },
      } as Stripe.Invoice.Parent,
      period_end: order.period.end,
      period_start: item?.current_period_start ?? order.period.start,
      post_payment_credit_notes_amount: 0,
      starting_balance: 0,
      status: 'draft',
      status_transitions: { finalized_at: null, marked_uncollectible_at: null, paid_at: null, voided_at: null },
      subtotal: order.total,
      subtotal_excluding_tax: order.total - tax,
      total,
      total_discount_amounts: discount === 0 ? [] : [{ amount: discount, discount: 'di_standin' }],
      total_excluding_tax: total - tax,
      total_taxes: tax === 0 ? [] : [made<Stripe.Invoice.TotalTax>({ amount: tax, tax_behavior: 'inclusive' })],
    }),
  );
  subscription.latest_invoice = id;
  return invoice;
}

/** A renewal may be discounted, and hold tax: that is in the price. */
function amountsOf(
  { renewals }: Books,
  { reason, total }: NewInvoice,
): { total: number; discount: number; tax: number } {
  if (reason !== 'subscription_cycle') return { total, discount: 0, tax: 0 };
  const discount = Math.round((total * renewals.discountPercent) / 100);
  const rest = total - discount;
  return { total: rest, discount, tax: rest - Math.round((rest * 100) / (100 + renewals.taxPercent)) };
}

function lineOf(
  subscription: Stripe.Subscription,
  { total, period, reason }: NewInvoice,
  books: Books,
): Stripe.InvoiceLineItem {
  const item = subscription.items.data[0];
  return made<Stripe.InvoiceLineItem>({
    id: books.newId('il'),
    object: 'line_item',
    amount: total,
    currency: 'usd',
    description: null,
    discount_amounts: [],
    discounts: [],
    livemode: false,
    metadata: {},
    parent: {
      type: 'subscription_item_details',
      invoice_item_details: null,
      subscription_item_details: made({
        subscription: subscription.id,
        subscription_item: item?.id ?? '',
        proration: reason === 'subscription_update',
      }),
    } as Stripe.InvoiceLineItem.Parent,
    period,
    pricing: {
      type: 'price_details',
      price_details: made<Stripe.InvoiceLineItem.Pricing.PriceDetails>({ price: item?.price.id ?? '' }),
      unit_amount_decimal: null,
    },
    quantity: 1,
    subtotal: total,
    taxes: [],
  });
}

/** Marks it as paid by a payment that has succeeded, or by none where nothing is due. */
export function settleInvoice(books: Books, invoice: Stripe.Invoice, intent: Stripe.PaymentIntent | null): void {
  finalize(books, invoice);
  if (intent !== null) Object.assign(paymentOf(books, invoice, intent), { status: 'paid', amount_paid: intent.amount });
  invoice.status = 'paid';
  invoice.attempted = true;
  invoice.amount_paid = invoice.amount_due;
  invoice.amount_remaining = 0;
  invoice.next_payment_attempt = null;
  invoice.status_transitions.paid_at = books.now();
  books.collections.delete(invoice.id);
  books.tell('invoice.paid', invoice);
}

/** Collects it from the subscription's card. @returns whether it is paid. */
export function collect(
  books: Books,
  invoice: Stripe.Invoice,
  subscription: Stripe.Subscription,
  card?: Card,
): boolean {
  finalize(books, invoice);
  if (invoice.amount_due === 0) {
    settleInvoice(books, invoice, null);
    return true;
  }
  invoice.attempted = true;
  invoice.attempt_count += 1;
  const intent = intentOf(books, invoice);
  const methodId = payingMethodOf(books, subscription);
  if (methodId !== null && confirm(books, intent, methodId, card ?? books.cards.get(methodId) ?? 'ok')) {
    settleInvoice(books, invoice, intent);
    return true;
  }
  books.tell('invoice.payment_failed', invoice);
  return false;
}

/** From draft to open. */
export function finalize(books: Books, invoice: Stripe.Invoice): void {
  if (invoice.status !== 'draft') return;
  invoice.status = 'open';
  invoice.number = `STANDIN-${invoice.id.slice(-6)}`;
  invoice.status_transitions.finalized_at = books.now();
  invoice.hosted_invoice_url = `${books.url}/invoices/${invoice.id}`;
}

export function voidInvoice(books: Books, invoice: Stripe.Invoice): void {
  invoice.status = 'void';
  invoice.status_transitions.voided_at = books.now();
  books.collections.delete(invoice.id);
}

/** All attempts on an invoice are attempts on one payment. */
export function intentOf(books: Books, invoice: Stripe.Invoice): Stripe.PaymentIntent {
  const known = books.list('invoice_payment').find((payment) => idIn(payment.invoice) === invoice.id);
  if (known !== undefined) return books.get('payment_intent', idIn(known.payment.payment_intent));
  const intent = addIntent(books, { amount: invoice.amount_due, customer: idIn(invoice.customer) });
  paymentOf(books, invoice, intent);
  return intent;
}

/** What ties a payment to an invoice. */
export function paymentOf(books: Books, invoice: Stripe.Invoice, intent: Stripe.PaymentIntent): Stripe.InvoicePayment {
  const known = books.list('invoice_payment').find((payment) => idIn(payment.payment.payment_intent) === intent.id);
  if (known !== undefined) return known;
  return books.add<'invoice_payment'>({
    id: books.newId('inpay'),
    object: 'invoice_payment',
    amount_paid: null,
    amount_requested: intent.amount,
    created: books.now(),
    currency: intent.currency,
    invoice: invoice.id,
    is_default: true,
    livemode: false,
    payment: { type: 'payment_intent', payment_intent: intent.id },
    status: 'open',
    status_transitions: { canceled_at: null, paid_at: null },
  });
}
