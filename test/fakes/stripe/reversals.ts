import type Stripe from 'stripe';
import { type StripeStore, getId, fromFields } from './store.ts';
import { StripeApiError } from './stripeApiError.ts';

/** Returns the successful charge of a payment, an invoice, a charge or a dispute. */
export function findCharge(store: StripeStore, reference: string): Stripe.Charge {
  const dispute = store.find('dispute', reference);
  if (dispute !== undefined) return store.get('charge', getId(dispute.charge));
  const invoicePayment = store.list('invoice_payment').find(({ invoice }) => getId(invoice) === reference);
  const intentId = getId(invoicePayment?.payment.payment_intent) || reference;
  const charge =
    store.find('charge', reference) ??
    store.find('charge', getId(store.find('payment_intent', intentId)?.latest_charge));
  if (charge?.status !== 'succeeded') throw new Error(`Nothing was paid by ${reference}.`);
  return charge;
}

/**
 * Refunds a charge. A refund of the whole charge closes inquiries.
 * @param amountCents default: the remaining amount.
 * @throws StripeApiError if nothing is left, or a dispute rules it out.
 */
export function createRefund(store: StripeStore, reference: string, amountCents?: number): Stripe.Refund {
  const charge = findCharge(store, reference);
  assertRefundable(store, charge);
  const rest = charge.amount - charge.amount_refunded;
  const amount = amountCents ?? rest;
  if (amount < 1 || amount > rest) {
    const message = `Refund amount (${amount}) is greater than unrefunded amount on charge (${rest})`;
    throw new StripeApiError(400, { param: 'amount', message });
  }
  charge.amount_refunded += amount;
  charge.refunded = charge.amount_refunded === charge.amount;
  const refunded = store.add<'refund'>(
    fromFields<Stripe.Refund>({
      id: store.newId('re'),
      object: 'refund',
      amount,
      charge: charge.id,
      created: store.now(),
      currency: charge.currency,
      metadata: {},
      payment_intent: getId(charge.payment_intent),
      reason: null,
      status: 'succeeded',
    }),
  );
  store.emit('refund.created', refunded);
  store.emit('charge.refunded', charge);
  if (charge.refunded) {
    for (const inquiry of listDisputes(store, charge).filter(isOpenInquiry))
      endDispute(store, inquiry, 'warning_closed');
  }
  return refunded;
}

/** @throws StripeApiError */
function assertRefundable(store: StripeStore, charge: Stripe.Charge): void {
  if (charge.refunded) {
    const message = `Charge ${charge.id} has already been refunded.`;
    throw new StripeApiError(400, { code: 'charge_already_refunded', message });
  }
  const disputes = listDisputes(store, charge);
  const isRuledOut = disputes.some(
    ({ status }) => !status.startsWith('warning_') && !(status === 'won' && store.refundsWonDisputes),
  );
  // A new dispute is known to the charge before it is listed.
  if (!isRuledOut && (disputes.length > 0 || !charge.disputed)) return;
  const message = `Charge ${charge.id} has been charged back; cannot issue a refund.`;
  throw new StripeApiError(400, { code: 'charge_disputed', message });
}

function listDisputes(store: StripeStore, { id }: Stripe.Charge): Stripe.Dispute[] {
  return store.list('dispute').filter(({ charge }) => getId(charge) === id);
}

function isOpenInquiry({ status }: Stripe.Dispute): boolean {
  return status === 'warning_needs_response' || status === 'warning_under_review';
}

function endDispute(store: StripeStore, dispute: Stripe.Dispute, status: Stripe.Dispute.Status): void {
  dispute.status = status;
  dispute.is_charge_refundable = status === 'warning_closed' || (status === 'won' && store.refundsWonDisputes);
  if (status === 'won') store.emit('charge.dispute.funds_reinstated', dispute);
  store.emit('charge.dispute.closed', dispute);
}

/** Fails a refund: the bank returns the amount to the service. */
export function failRefund(store: StripeStore, refundId: string): Stripe.Refund {
  const refunded = store.get('refund', refundId);
  const charge = store.get('charge', getId(refunded.charge));
  charge.amount_refunded -= refunded.amount;
  charge.refunded = false;
  refunded.status = 'failed';
  store.emit('refund.failed', refunded);
  return refunded;
}

export interface DisputeOptions {
  amountCents?: number;
  /** The amount was returned before the bank opened a dispute. */
  isPrevented?: boolean;
  /** An inquiry of the bank, which withdraws no money yet. */
  isInquiry?: boolean;
}

export function openDispute(store: StripeStore, reference: string, options: DisputeOptions = {}): Stripe.Dispute {
  const charge = findCharge(store, reference);
  charge.disputed = true;
  const dispute = store.add<'dispute'>(
    fromFields<Stripe.Dispute>({
      id: store.newId('du'),
      object: 'dispute',
      amount: options.amountCents ?? charge.amount,
      balance_transactions: [],
      charge: charge.id,
      created: store.now(),
      currency: charge.currency,
      is_charge_refundable: options.isInquiry === true,
      livemode: false,
      metadata: {},
      payment_intent: getId(charge.payment_intent),
      reason: 'fraudulent',
      status: getDisputeStatus(options),
    }),
  );
  store.emit('charge.dispute.created', dispute);
  if (dispute.status === 'needs_response') store.emit('charge.dispute.funds_withdrawn', dispute);
  return dispute;
}

/** Submits the evidence for a dispute or an inquiry, which the bank then reviews. */
export function submitEvidence(store: StripeStore, disputeId: string): Stripe.Dispute {
  const dispute = store.get('dispute', disputeId);
  dispute.status = dispute.status.startsWith('warning_') ? 'warning_under_review' : 'under_review';
  store.emit('charge.dispute.updated', dispute);
  return dispute;
}

function getDisputeStatus({ isInquiry, isPrevented }: DisputeOptions): Stripe.Dispute.Status {
  if (isPrevented === true) return 'prevented';
  return isInquiry === true ? 'warning_needs_response' : 'needs_response';
}

/** Turns an inquiry into a chargeback, which withdraws the amount. */
export function escalateDispute(store: StripeStore, disputeId: string): Stripe.Dispute {
  const dispute = store.get('dispute', disputeId);
  dispute.status = 'needs_response';
  dispute.is_charge_refundable = false;
  store.emit('charge.dispute.updated', dispute);
  store.emit('charge.dispute.funds_withdrawn', dispute);
  return dispute;
}

/** @param reference the dispute, or the disputed payment, charge or invoice. */
export function closeDispute(store: StripeStore, reference: string, outcome: 'won' | 'lost'): Stripe.Dispute {
  const charge = findCharge(store, reference);
  const dispute =
    store.find('dispute', reference) ??
    listDisputes(store, charge).find(({ status }) => /needs_response|under_review/.test(status));
  if (dispute === undefined) throw new Error(`Nothing about ${reference} is disputed.`);
  endDispute(store, dispute, dispute.status.startsWith('warning_') ? 'warning_closed' : outcome);
  return dispute;
}
