import type Stripe from 'stripe';
import { type Books, idIn, made } from './books.ts';

/** The charge that paid for it. @param reference of a payment, an invoice, a charge or a dispute. */
export function chargeBehind(books: Books, reference: string): Stripe.Charge {
  const dispute = books.find('dispute', reference);
  if (dispute !== undefined) return books.get('charge', idIn(dispute.charge));
  const invoicePayment = books.list('invoice_payment').find(({ invoice }) => idIn(invoice) === reference);
  const intentId = idIn(invoicePayment?.payment.payment_intent) || reference;
  const charge =
    books.find('charge', reference) ??
    books.find('charge', idIn(books.find('payment_intent', intentId)?.latest_charge));
  if (charge?.status !== 'succeeded') throw new Error(`Nothing was paid by ${reference}.`);
  return charge;
}

/** @param amountCents all that is left, if it is not given. */
export function refund(books: Books, reference: string, amountCents?: number): Stripe.Refund {
  const charge = chargeBehind(books, reference);
  const rest = charge.amount - charge.amount_refunded;
  const amount = amountCents ?? rest;
  if (amount < 1 || amount > rest) throw new Error(`${amount} of ${rest} cents cannot be refunded.`);
  charge.amount_refunded += amount;
  charge.refunded = charge.amount_refunded === charge.amount;
  const refunded = books.add<'refund'>(
    made<Stripe.Refund>({
      id: books.newId('re'),
      object: 'refund',
      amount,
      charge: charge.id,
      created: books.now(),
      currency: charge.currency,
      metadata: {},
      payment_intent: idIn(charge.payment_intent),
      reason: null,
      status: 'succeeded',
    }),
  );
  books.tell('charge.refunded', charge);
  return refunded;
}

/** The bank returns a refund: the money is with us again. */
export function failRefund(books: Books, refundId: string): Stripe.Refund {
  const refunded = books.get('refund', refundId);
  const charge = books.get('charge', idIn(refunded.charge));
  charge.amount_refunded -= refunded.amount;
  charge.refunded = false;
  refunded.status = 'failed';
  books.tell('refund.failed', refunded);
  return refunded;
}

export interface DisputeOptions {
  amountCents?: number;
  /** The money was returned before the bank made it a dispute. */
  isPrevented?: boolean;
  /** A question of the bank, which takes no money yet. */
  isInquiry?: boolean;
}

export function openDispute(books: Books, reference: string, options: DisputeOptions = {}): Stripe.Dispute {
  const charge = chargeBehind(books, reference);
  charge.disputed = true;
  const dispute = books.add<'dispute'>(
    made<Stripe.Dispute>({
      id: books.newId('du'),
      object: 'dispute',
      amount: options.amountCents ?? charge.amount,
      balance_transactions: [],
      charge: charge.id,
      created: books.now(),
      currency: charge.currency,
      is_charge_refundable: false,
      livemode: false,
      metadata: {},
      payment_intent: idIn(charge.payment_intent),
      reason: 'fraudulent',
      status: statusOf(options),
    }),
  );
  books.tell('charge.dispute.created', dispute);
  return dispute;
}

function statusOf({ isInquiry, isPrevented }: DisputeOptions): Stripe.Dispute.Status {
  if (isPrevented === true) return 'prevented';
  return isInquiry === true ? 'warning_needs_response' : 'needs_response';
}

/** The bank makes a chargeback of its inquiry, and takes the money. */
export function escalateDispute(books: Books, disputeId: string): Stripe.Dispute {
  const dispute = books.get('dispute', disputeId);
  dispute.status = 'needs_response';
  books.tell('charge.dispute.updated', dispute);
  books.tell('charge.dispute.funds_withdrawn', dispute);
  return dispute;
}

/** @param reference of the dispute, or of what is disputed. */
export function closeDispute(books: Books, reference: string, outcome: 'won' | 'lost'): Stripe.Dispute {
  const charge = chargeBehind(books, reference);
  const dispute =
    books.find('dispute', reference) ??
    books
      .list('dispute')
      .find((open) => idIn(open.charge) === charge.id && /needs_response|under_review/.test(open.status));
  if (dispute === undefined) throw new Error(`Nothing about ${reference} is disputed.`);
  dispute.status = dispute.status.startsWith('warning_') ? 'warning_closed' : outcome;
  books.tell('charge.dispute.closed', dispute);
  return dispute;
}
