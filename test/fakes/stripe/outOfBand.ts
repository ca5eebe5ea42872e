import type Stripe from 'stripe';
import { type StripeStore, getId, fromFields } from './store.ts';
import { createRefund } from './reversals.ts';
import { activateSubscription, finalizeInvoice, findOrCreateInvoicePayment } from './invoices.ts';

/** Records a refund of a paid invoice outside of Stripe as a credit note. */
export function creditOutOfBand(store: StripeStore, invoice: Stripe.Invoice, amountCents: number): Stripe.CreditNote {
  if (invoice.status !== 'paid') throw new Error(`${invoice.id} is ${invoice.status}: it cannot be credited.`);
  invoice.post_payment_credit_notes_amount += amountCents;
  const note = store.add<'credit_note'>(
    fromFields<Stripe.CreditNote>({
      id: store.newId('cn'),
      object: 'credit_note',
      amount: amountCents,
      created: store.now(),
      currency: invoice.currency,
      customer: getId(invoice.customer),
      invoice: invoice.id,
      livemode: false,
      metadata: {},
      out_of_band_amount: amountCents,
      post_payment_amount: amountCents,
      pre_payment_amount: 0,
      refunds: [],
      status: 'issued',
      total: amountCents,
      type: 'post_payment',
      voided_at: null,
    }),
  );
  store.emit('credit_note.created', note);
  return note;
}

/** Refunds a part of a paid invoice with a credit note, as the dashboard does. */
export function creditWithRefund(store: StripeStore, invoice: Stripe.Invoice, amountCents: number): Stripe.CreditNote {
  const note = creditOutOfBand(store, invoice, amountCents);
  note.out_of_band_amount = null;
  createRefund(store, invoice.id, amountCents);
  return note;
}

/** Voids a credit note. */
export function voidCreditNote(store: StripeStore, note: Stripe.CreditNote): void {
  const invoice = store.get('invoice', getId(note.invoice));
  invoice.post_payment_credit_notes_amount -= note.amount;
  note.status = 'void';
  note.voided_at = store.now();
  store.emit('credit_note.voided', note);
}

/** Marks an invoice as paid outside of Stripe, without a payment at Stripe. */
export function payInvoiceOutOfBand(store: StripeStore, invoice: Stripe.Invoice, intent: Stripe.PaymentIntent): void {
  finalizeInvoice(store, invoice);
  if (invoice.status !== 'open') throw new Error(`${invoice.id} is ${invoice.status}: it cannot be paid.`);
  intent.status = 'canceled';
  const { amount_due: amount } = invoice;
  findOrCreateInvoicePayment(store, invoice, intent).status = 'canceled';
  store.add<'invoice_payment'>({
    ...findOrCreateInvoicePayment(store, invoice, intent),
    id: store.newId('inpay'),
    amount_paid: amount,
    payment: { type: 'payment_record', payment_record: store.newId('pr') },
    status: 'paid',
  });
  Object.assign(invoice, { status: 'paid', amount_paid: amount, amount_remaining: 0, next_payment_attempt: null });
  invoice.status_transitions.paid_at = store.now();
  store.collections.delete(invoice.id);
  store.emit('invoice.paid', invoice);
  activateSubscription(store, invoice);
}
