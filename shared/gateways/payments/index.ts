import { getCatalog, getPlanSlugs } from '../../lib/catalog/catalog.ts';
import type { Config } from '../../lib/config.ts';
import type { PaymentProcessor } from './paymentProcessor.ts';
import { parsePlanPrices } from './planPrices.ts';
import { SimulatedProcessor } from './simulatedProcessor.ts';

/** The name of the payment processor in the API and in rows (docs/decisions.md: Billing). */
export const PROCESSOR_NAME = 'stripe';

/** The payment processor of this process. Set by `openPaymentProcessor`, and not readable before. */
export let processor: PaymentProcessor;

/**
 * Sets the payment processor: Stripe, or a simulated one if STRIPE_SECRET_KEY is not set. The configuration rejects the
 * latter with NODE_ENV=production.
 */
export async function openPaymentProcessor(config: Config): Promise<void> {
  processor = config.STRIPE_SECRET_KEY === undefined ? new SimulatedProcessor() : await openStripeProcessor(config);
}

async function openStripeProcessor(config: Config): Promise<PaymentProcessor> {
  // Stripe's library is loaded only where it is used.
  const { createStripeProcessor } = await import('./stripeProcessor.ts');
  return createStripeProcessor({
    secretKey: config.STRIPE_SECRET_KEY as string,
    webhookSecret: config.STRIPE_WEBHOOK_SECRET as string,
    connectWebhookSecret: config.STRIPE_CONNECT_WEBHOOK_SECRET,
    portalConfiguration: config.STRIPE_PORTAL_CONFIGURATION,
    apiBase: config.STRIPE_API_BASE,
    collectsTax: config.STRIPE_TAX === 'on',
    acceptsPromotionCodes: config.STRIPE_PROMOTION_CODES === 'on',
    prices: parsePlanPrices(config, getPlanSlugs()),
    plans: getCatalog().plans,
  });
}

export { ProcessorError } from './processorError.ts';
export type {
  ChargeRefundOutcome,
  ConnectedAccount,
  PaidInvoice,
  PaymentFailureCode,
  PaymentProcessor,
  ProcessorEvent,
  ProcessorPayment,
  ProcessorSubscription,
  SubscriptionCharge,
  EventWithPayload,
} from './paymentProcessor.ts';
export type {
  InvoiceReversals,
  ProcessorInvoice,
  ReviewedInvoice,
  SubscriptionInvoice,
  TopupInvoice,
} from './processorInvoice.ts';
