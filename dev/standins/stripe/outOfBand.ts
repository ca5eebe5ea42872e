import type Stripe from 'stripe';
import { type Books, idIn, made } from './books.ts';
import { finalize, paymentOf } from './invoices.ts';

/** Writes down that so much of a paid invoice was given back outside of Stripe. */
export function creditElsewhere(books: Books, invoice: Stripe.Invoice, amountCents: number): Stripe.CreditNote {
  if (invoice.status !== 'paid')
    throw new Error(`${invoice.id} is ${invoice.status}: nothing of it can be given back.`);
  invoice.post_payment_credit_notes_amount += amountCents;
  const note = books.add<'credit_note'>(
    made<Stripe.CreditNote>({
      id: books.newId('cn'),
      object: 'credit_note',
      amount: amountCents,
      created: books.now(),
      currency: invoice.currency,
      customer: idIn(invoice.customer),
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
  books.tell('credit_note.created', note);
  return note;
}

/** Takes a credit note back. */
export function voidCredit(books: Books, note: Stripe.CreditNote): void {
  const invoice = books.get('invoice', idIn(note.invoice));
  invoice.post_payment_credit_notes_amount -= note.amount;
  note.status = 'void';
  note.voided_at = books.now();
  books.tell('credit_note.voided', note);
}

/** Marks an invoice as paid outside of Stripe: no payment of Stripe's stands behind it. */
export function settleElsewhere(books: Books, invoice: Stripe.Invoice, intent: Stripe.PaymentIntent): void {
  finalize(books, invoice);
  if (invoice.status !== 'open') throw new Error(`${invoice.id} is ${invoice.status}: it cannot be paid.`);
  intent.status = 'canceled';
  const { amount_due: amount } = invoice;
  paymentOf(books, invoice, intent).status = 'canceled';
  books.add<'invoice_payment'>({
    ...paymentOf(books, invoice, intent),
    id: books.newId('inpay'),
    amount_paid: amount,
    payment: { type: 'payment_record', payment_record: books.newId('pr') },
    status: 'paid',
  });
  Object.assign(invoice, { status: 'paid', amount_paid: amount, amount_remaining: 0, next_payment_attempt: null });
  invoice.status_transitions.paid_at = books.now();
  books.collections.delete(invoice.id);
  books.tell('invoice.paid', invoice);
}
