import type Stripe from 'stripe';
import { type StripeStore, type CardBehavior, getId, toApiList, fromFields } from './store.ts';
import { findPaymentMethodId } from './customers.ts';
import { addPaymentIntent, confirmIntent } from './paymentIntents.ts';
import { setSubscriptionStatus } from './subscriptions.ts';

export interface NewInvoice {
  reason: 'subscription_create' | 'subscription_cycle' | 'subscription_update';
  /** In cents; a negative amount is credited to the customer's balance. */
  total: number;
  /** Amounts of the page that was paid, where they are not those of the price. */
  page?: { total: number; discount: number; tax: number };
  /** The price before a plan change, whose unused time is credited. */
  priceBefore?: Stripe.Price;
  /** Time in seconds. */
  period: { start: number; end: number };
}

/** Adds a draft invoice. */
export function draftInvoice(
  store: StripeStore,
  subscription: Stripe.Subscription,
  fields: NewInvoice,
): Stripe.Invoice {
  const item = subscription.items.data[0];
  const id = store.newId('in');
  const { total, discount, tax } = fields.page ?? computeAmounts(store, fields);
  const due = Math.max(0, total);
  const invoice = store.add<'invoice'>(
    fromFields<Stripe.Invoice>({
      id,
      object: 'invoice',
      amount_due: due,
      amount_paid: 0,
      amount_remaining: due,
      attempt_count: 0,
      attempted: false,
      auto_advance: true,
      automatic_tax: fromFields<Stripe.Invoice.AutomaticTax>({ enabled: false, status: null }),
      automatically_finalizes_at: null,
      billing_reason: fields.reason,
      collection_method: 'charge_automatically',
      created: store.now(),
      currency: 'usd',
      customer: getId(subscription.customer),
      default_payment_method: null,
      discounts: [],
      last_finalization_error: null,
      lines: toApiList(buildInvoiceLines(subscription, fields, store), `/v1/invoices/${id}/lines`),
      livemode: false,
      metadata: {},
      number: null,
      parent: {
        type: 'subscription_details',
        quote_details: null,
        schedule_details: null,
        subscription_details: { subscription: subscription.id, metadata: { ...subscription.metadata } },
      } as Stripe.Invoice.Parent,
      period_end: fields.period.end,
      period_start: item?.current_period_start ?? fields.period.start,
      post_payment_credit_notes_amount: 0,
      starting_balance: 0,
      status: 'draft',
      status_transitions: { finalized_at: null, marked_uncollectible_at: null, paid_at: null, voided_at: null },
      subtotal: fields.total,
      subtotal_excluding_tax: fields.page === undefined ? fields.total - tax : fields.total,
      total,
      total_discount_amounts: discount === 0 ? [] : [{ amount: discount, discount: 'di_standin' }],
      total_excluding_tax: total - tax,
      total_taxes: tax === 0 ? [] : [fromFields<Stripe.Invoice.TotalTax>({ amount: tax, tax_behavior: 'inclusive' })],
    }),
  );
  subscription.latest_invoice = id;
  store.emit('invoice.created', invoice);
  return invoice;
}

/** Returns discount and tax of a renewal; tax is included in the price. */
function computeAmounts(
  { renewals }: StripeStore,
  { reason, total }: NewInvoice,
): { total: number; discount: number; tax: number } {
  if (reason !== 'subscription_cycle') return { total, discount: 0, tax: 0 };
  const discount = Math.round((total * renewals.discountPercent) / 100);
  const rest = total - discount;
  return { total: rest, discount, tax: rest - Math.round((rest * 100) / (100 + renewals.taxPercent)) };
}

/** Builds the lines of an invoice: one for a year, and for a plan change one for each plan, the plan before first. */
function buildInvoiceLines(
  subscription: Stripe.Subscription,
  { total, period, reason, priceBefore }: NewInvoice,
  store: StripeStore,
): Stripe.InvoiceLineItem[] {
  const item = subscription.items.data[0];
  const isProration = reason === 'subscription_update';
  const build = (amount: number, price: string) =>
    buildInvoiceLine(subscription, { amount, price, period, isProration }, store);
  if (item === undefined || priceBefore === undefined) return [build(total, item?.price.id ?? '')];
  const left = (period.end - period.start) / (item.current_period_end - item.current_period_start);
  const added = Math.round(left * (item.price.unit_amount ?? 0));
  return [build(total - added, priceBefore.id), build(added, item.price.id)];
}

function buildInvoiceLine(
  subscription: Stripe.Subscription,
  line: { amount: number; price: string; period: NewInvoice['period']; isProration: boolean },
  store: StripeStore,
): Stripe.InvoiceLineItem {
  const { amount, price, period, isProration } = line;
  const item = subscription.items.data[0];
  return fromFields<Stripe.InvoiceLineItem>({
    id: store.newId('il'),
    object: 'line_item',
    amount,
    currency: 'usd',
    description: null,
    discount_amounts: [],
    discounts: [],
    livemode: false,
    metadata: {},
    parent: {
      type: 'subscription_item_details',
      invoice_item_details: null,
      subscription_item_details: fromFields({
        subscription: subscription.id,
        subscription_item: item?.id ?? '',
        proration: isProration,
      }),
    } as Stripe.InvoiceLineItem.Parent,
    period,
    pricing: {
      type: 'price_details',
      price_details: fromFields<Stripe.InvoiceLineItem.Pricing.PriceDetails>({ price }),
      unit_amount_decimal: null,
    },
    quantity: 1,
    subtotal: amount,
    taxes: [],
  });
}

/**
 * Marks an invoice as paid by a successful payment, or by none if nothing is due. The latest one of a subscription
 * activates it.
 */
export function markInvoicePaid(
  store: StripeStore,
  invoice: Stripe.Invoice,
  intent: Stripe.PaymentIntent | null,
): void {
  finalizeInvoice(store, invoice);
  if (intent !== null)
    Object.assign(findOrCreateInvoicePayment(store, invoice, intent), { status: 'paid', amount_paid: intent.amount });
  invoice.status = 'paid';
  invoice.attempted = true;
  invoice.amount_paid = invoice.amount_due;
  invoice.amount_remaining = 0;
  invoice.next_payment_attempt = null;
  invoice.status_transitions.paid_at = store.now();
  store.collections.delete(invoice.id);
  store.emit('invoice.paid', invoice);
  activateSubscription(store, invoice);
}

/** Activates the subscription whose latest invoice was paid. */
export function activateSubscription(store: StripeStore, invoice: Stripe.Invoice): void {
  const subscription = store.find('subscription', getId(invoice.parent?.subscription_details?.subscription));
  if (subscription === undefined || getId(subscription.latest_invoice) !== invoice.id) return;
  store.paidPrices.delete(subscription.id);
  setSubscriptionStatus(store, subscription, 'active');
}

/** Charges an invoice to the subscription's card. @returns whether it is paid. */
export function collectInvoice(
  store: StripeStore,
  invoice: Stripe.Invoice,
  subscription: Stripe.Subscription,
  card?: CardBehavior,
): boolean {
  finalizeInvoice(store, invoice);
  if (invoice.amount_due === 0) {
    markInvoicePaid(store, invoice, null);
    return true;
  }
  invoice.attempted = true;
  invoice.attempt_count += 1;
  const intent = findOrCreateInvoiceIntent(store, invoice);
  const methodId = findPaymentMethodId(store, subscription);
  if (methodId !== null && confirmIntent(store, intent, methodId, card ?? store.cards.get(methodId) ?? 'ok')) {
    markInvoicePaid(store, invoice, intent);
    return true;
  }
  store.emit('invoice.payment_failed', invoice);
  return false;
}

/** Finalizes a draft invoice. */
export function finalizeInvoice(store: StripeStore, invoice: Stripe.Invoice): void {
  if (invoice.status !== 'draft') return;
  invoice.status = 'open';
  invoice.automatically_finalizes_at = null;
  invoice.last_finalization_error = null;
  invoice.number = `FAKE-${invoice.id.slice(-6)}`;
  invoice.status_transitions.finalized_at = store.now();
  invoice.hosted_invoice_url = `${store.url}/invoices/${invoice.id}`;
  invoice.invoice_pdf = `${store.url}/invoices/${invoice.id}/pdf`;
  store.emit('invoice.finalized', invoice);
}

/** Leaves a draft a draft, as its tax cannot be computed without an address. */
export function failFinalization(store: StripeStore, invoice: Stripe.Invoice): void {
  invoice.automatic_tax = fromFields<Stripe.Invoice.AutomaticTax>({
    enabled: true,
    status: 'requires_location_inputs',
  });
  invoice.last_finalization_error = fromFields({
    code: 'customer_tax_location_invalid',
    message:
      "The customer's location isn't recognized. Set a valid customer address in order to automatically calculate tax.",
    type: 'invalid_request_error',
  });
  invoice.automatically_finalizes_at = null;
  store.emit('invoice.finalization_failed', invoice);
}

/** Finalizes an invoice and gives it up. */
export function markUncollectible(store: StripeStore, invoice: Stripe.Invoice): void {
  finalizeInvoice(store, invoice);
  invoice.status = 'uncollectible';
  invoice.status_transitions.marked_uncollectible_at = store.now();
  store.collections.delete(invoice.id);
  store.emit('invoice.marked_uncollectible', invoice);
}

export function voidInvoice(store: StripeStore, invoice: Stripe.Invoice): void {
  invoice.status = 'void';
  // Returns the balance that was applied to it.
  if (invoice.starting_balance < 0) store.get('customer', getId(invoice.customer)).balance += invoice.starting_balance;
  invoice.status_transitions.voided_at = store.now();
  store.collections.delete(invoice.id);
  store.emit('invoice.voided', invoice);
}

/** Returns the payment of an invoice: all attempts use the same one. */
export function findOrCreateInvoiceIntent(store: StripeStore, invoice: Stripe.Invoice): Stripe.PaymentIntent {
  const known = store.list('invoice_payment').find((payment) => getId(payment.invoice) === invoice.id);
  if (known !== undefined) return store.get('payment_intent', getId(known.payment.payment_intent));
  const intent = addPaymentIntent(store, { amount: invoice.amount_due, customer: getId(invoice.customer) });
  findOrCreateInvoicePayment(store, invoice, intent);
  return intent;
}

/** Adds the object that links a payment to an invoice. */
export function findOrCreateInvoicePayment(
  store: StripeStore,
  invoice: Stripe.Invoice,
  intent: Stripe.PaymentIntent,
): Stripe.InvoicePayment {
  const known = store.list('invoice_payment').find((payment) => getId(payment.payment.payment_intent) === intent.id);
  if (known !== undefined) return known;
  return store.add<'invoice_payment'>({
    id: store.newId('inpay'),
    object: 'invoice_payment',
    amount_paid: null,
    amount_requested: intent.amount,
    created: store.now(),
    currency: intent.currency,
    invoice: invoice.id,
    is_default: true,
    livemode: false,
    payment: { type: 'payment_intent', payment_intent: intent.id },
    status: 'open',
    status_transitions: { canceled_at: null, paid_at: null },
  });
}
