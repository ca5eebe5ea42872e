import { getCatalog, getPlanSlugs } from '../../lib/catalog/catalog.ts';
import type { Config } from '../../lib/config.ts';
import type { PaymentProcessor } from './paymentProcessor.ts';
import { buildCheckoutMethods } from './stripeCheckout.ts';
import { createStripeClient, type StripeOptions } from './stripeClient.ts';
import { buildConnectMethods } from './stripeConnect.ts';
import { buildEventMethods } from './stripeEvents.ts';
import { buildInvoiceMethods } from './stripeInvoices.ts';
import { buildPaymentMethods } from './stripePayments.ts';
import { findPlanPriceProblem, parsePlanPrices } from './stripePrices.ts';
import { buildSubscriptionMethods } from './stripeSubscriptions.ts';

export function openStripeProcessor(config: Config): PaymentProcessor {
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

export type StripeProcessor = ReturnType<typeof createStripeProcessor>;

/** Creates the payment processor that uses Stripe, through Stripe's own library. */
export function createStripeProcessor(options: StripeOptions) {
  const stripe = createStripeClient(options.secretKey, options.apiBase);
  return {
    isSimulated: false,
    findPlanPriceProblem: () => findPlanPriceProblem(stripe, options),
    ...buildCheckoutMethods(stripe, options),
    ...buildPaymentMethods(stripe, options),
    ...buildSubscriptionMethods(stripe, options),
    ...buildInvoiceMethods(stripe, options),
    ...buildConnectMethods(stripe),
    ...buildEventMethods(stripe, options),
  } satisfies PaymentProcessor;
}
