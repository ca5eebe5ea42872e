import type Stripe from 'stripe';
import { type ChargeRefundOutcome, ProcessorError, type PaymentProcessor } from './paymentProcessor.ts';
import { listDisputes, readPaymentIntent } from './stripePayments.ts';
import { computeReversals, isDisputeOpen } from './stripeMappers.ts';
import { ignoreIfAlreadyDone, unwrap, withIdempotencyKey } from './stripeResponses.ts';

/** Refunds what is left of a charge. May be repeated: an idempotency key and Stripe itself prevent a second refund. */
export async function refundCharge(
  stripe: Stripe,
  intentId: string,
  charge: Stripe.Charge,
  disputes: Stripe.Dispute[],
): Promise<ChargeRefundOutcome> {
  if (computeReversals(charge, disputes).returnedCents >= charge.amount) return 'refunded';
  if (disputes.some(isDisputeOpen)) return 'disputed';
  const params = { payment_intent: intentId };
  const refund = withIdempotencyKey(`refund-${intentId}`, (options) => stripe.refunds.create(params, options));
  // Stripe may refund nothing of a charge that was disputed, whatever the outcome.
  if ((await ignoreIfAlreadyDone(refund, ['charge_already_refunded', 'charge_disputed'])) !== 'charge_disputed')
    return 'refunded';
  // The next attempt finds a dispute that was opened just now.
  return disputes.length === 0 ? 'disputed' : 'refused';
}

/** Builds the method that refunds a top-up. */
export function buildRefundMethods(stripe: Stripe): Pick<PaymentProcessor, 'refundTopup'> {
  return {
    refundTopup: async ({ intentId }) => {
      const intent = await unwrap(stripe.paymentIntents.retrieve(intentId, { expand: ['latest_charge'] }));
      const charge = intent.latest_charge;
      if (typeof charge !== 'object' || charge === null)
        throw new ProcessorError('rejected', `The payment ${intentId} has no charge.`);
      const outcome = await refundCharge(stripe, intentId, charge, await listDisputes(stripe, charge));
      return { outcome, payment: await readPaymentIntent(stripe, intentId) };
    },
  };
}
