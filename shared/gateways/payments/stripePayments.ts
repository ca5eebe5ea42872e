import Stripe from 'stripe';
import { draftTopupInvoice } from './stripeTopupInvoices.ts';
import {
  type PaymentProcessor,
  ProcessorError,
  type ProcessorPayment,
  type SubscriptionCharge,
} from './paymentProcessor.ts';
import { getTotalWithoutTax } from './stripeInvoiceAmounts.ts';
import {
  buildTaxMetadata,
  buildTopupMetadata,
  CURRENCY,
  getStripeId,
  getSubscriptionId,
  getTopupUuid,
  hasPageAmounts,
  isUnconfirmed,
  toProcessorPayment,
  toSearchStart,
} from './stripeMappers.ts';
import { findOrNull, listIds, toProcessorError, unwrap } from './stripeResponses.ts';

type PaymentMethods = Pick<
  PaymentProcessor,
  'chargeTopup' | 'readPayment' | 'findPayment' | 'readCheckoutSession' | 'readCharge' | 'findDisputedCharge'
>;

/** A charge waits for the customer's bank. */
const CHARGE_TIMEOUT_MS = 10_000;

/** Returns the disputes of a charge. */
export async function listDisputes(
  stripe: Stripe,
  { id, disputed: isDisputed }: Stripe.Charge,
): Promise<Stripe.Dispute[]> {
  return isDisputed ? (await unwrap(stripe.disputes.list({ charge: id, limit: 10 }))).data : [];
}

/** Reads a payment with its latest charge and disputes. */
export async function readPaymentIntent(stripe: Stripe, intentId: string): Promise<ProcessorPayment | null> {
  const intent = await retrieveIntent(stripe, intentId);
  return intent === null ? null : readPaymentOfIntent(stripe, intent);
}

function retrieveIntent(stripe: Stripe, intentId: string): Promise<Stripe.PaymentIntent | null> {
  return findOrNull(stripe.paymentIntents.retrieve(intentId, { expand: ['latest_charge'] }));
}

async function readPaymentOfIntent(stripe: Stripe, intent: Stripe.PaymentIntent): Promise<ProcessorPayment> {
  const charge = intent.latest_charge;
  const disputes = typeof charge === 'object' && charge !== null ? await listDisputes(stripe, charge) : [];
  const payment = toProcessorPayment(intent, disputes);
  return payment.status === 'succeeded' && hasPageAmounts(intent) ? withPageAmounts(stripe, payment) : payment;
}

/**
 * Adds the tax and the discount of the page on which a payment was made.
 * @throws ProcessorError unavailable while Stripe does not list the page: without its amounts the payment would not be
 *   that of its order.
 */
async function withPageAmounts(stripe: Stripe, payment: ProcessorPayment): Promise<ProcessorPayment> {
  const params = { payment_intent: payment.intentId, limit: 1 };
  const details = (await unwrap(stripe.checkout.sessions.list(params))).data[0]?.total_details;
  if (details === undefined || details === null)
    throw new ProcessorError('unavailable', `Stripe does not list the checkout page of ${payment.intentId} yet.`);
  return { ...payment, taxCents: details.amount_tax, discountCents: details.amount_discount };
}

async function findSubscriptionCharge(stripe: Stripe, intentId: string): Promise<SubscriptionCharge | null> {
  const payment = { type: 'payment_intent', payment_intent: intentId } as const;
  const { data } = await unwrap(stripe.invoicePayments.list({ payment, limit: 1 }));
  const invoiceId = getStripeId(data[0]?.invoice);
  const invoice = invoiceId === null ? null : await findOrNull(stripe.invoices.retrieve(invoiceId));
  const subscriptionId = getSubscriptionId(invoice);
  if (invoice === null || subscriptionId === null) return null;
  return { invoiceId: invoice.id, subscriptionId };
}

/** Builds the methods for payments of top-ups, and for charges. */
export function buildPaymentMethods(stripe: Stripe, collectsTax: boolean): PaymentMethods {
  return {
    chargeTopup: async ({ customerId, paymentMethodId, ...order }) => {
      // Stripe computes tax on invoices and pages: the draft of the later invoice says what to charge.
      const draft = collectsTax ? await draftTopupInvoice(stripe, { customerId, order, collectsTax }) : null;
      const taxMetadata = draft === null ? {} : buildTaxMetadata(draft.total - getTotalWithoutTax(draft));
      const params: Stripe.PaymentIntentCreateParams = {
        amount: draft?.total ?? order.amountCents,
        currency: CURRENCY,
        customer: customerId,
        payment_method: paymentMethodId,
        off_session: true,
        confirm: true,
        // The customer is not present, so they cannot be redirected to another page.
        automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
        metadata: { ...buildTopupMetadata(order), ...taxMetadata },
      };
      try {
        return toProcessorPayment(
          await stripe.paymentIntents.create(params, {
            // Does not contain the customer or the card: another key could charge the top-up a second time.
            idempotencyKey: `topup-${order.topupUuid}`,
            timeout: CHARGE_TIMEOUT_MS,
          }),
        );
      } catch (error) {
        // A declined card is an outcome, too: the error contains the payment.
        if (error instanceof Stripe.errors.StripeCardError && error.payment_intent !== undefined) {
          // The draft is not visible to the customer. If it cannot be deleted, it stays a draft.
          if (draft !== null) await stripe.invoices.del(draft.id).catch(() => {});
          return toProcessorPayment(error.payment_intent);
        }
        throw toProcessorError(error);
      }
    },

    readPayment: (intentId) => readPaymentIntent(stripe, intentId),

    findPayment: async (customerId, topupUuid, createdAt) => {
      const charged = listIds(
        stripe.paymentIntents.list({ customer: customerId, created: { gte: toSearchStart(createdAt) } }),
      );
      for await (const intentId of charged) {
        const intent = await retrieveIntent(stripe, intentId);
        // An intent that Stripe left unconfirmed after a failure is not a charge.
        if (intent === null || isUnconfirmed(intent) || getTopupUuid(intent.metadata) !== topupUuid) continue;
        return readPaymentOfIntent(stripe, intent);
      }
      return null;
    },

    readCheckoutSession: async (sessionId) => {
      const session = await findOrNull(stripe.checkout.sessions.retrieve(sessionId));
      if (session === null) return null;
      return {
        subscriptionId: getStripeId(session.subscription),
        intentId: getStripeId(session.payment_intent),
        isOpen: session.status === 'open',
        isFree: session.status === 'complete' && session.payment_status === 'no_payment_required',
      };
    },

    readCharge: async (chargeId) => {
      const charge = await findOrNull(stripe.charges.retrieve(chargeId));
      const intentId = getStripeId(charge?.payment_intent);
      if (charge === null || intentId === null) return null;
      const payment = await readPaymentIntent(stripe, intentId);
      return payment?.topupUuid === null ? findSubscriptionCharge(stripe, intentId) : payment;
    },

    findDisputedCharge: async (disputeId) =>
      getStripeId((await findOrNull(stripe.disputes.retrieve(disputeId)))?.charge),
  };
}
