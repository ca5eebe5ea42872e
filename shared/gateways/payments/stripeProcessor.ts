import type { PaymentProcessor } from './paymentProcessor.ts';
import { buildCheckoutMethods } from './stripeCheckout.ts';
import { createStripeClient } from './stripeClient.ts';
import { buildConnectMethods } from './stripeConnect.ts';
import { buildEventMethods } from './stripeEvents.ts';
import { buildInvoiceMethods } from './stripeInvoices.ts';
import type { Plan } from '../../spec/plans.ts';
import type { PlanPrices } from './stripeMappers.ts';
import { buildPaymentMethods } from './stripePayments.ts';
import { buildPriceMethods } from './stripePrices.ts';
import { buildRefundMethods } from './stripeRefunds.ts';
import { buildSubscriptionMethods } from './stripeSubscriptions.ts';
import { buildTopupInvoiceMethods } from './stripeTopupInvoices.ts';

export interface StripeOptions {
  secretKey: string;
  webhookSecret: string;
  /** Secret of the webhook for connected accounts, if there is a separate one. */
  connectWebhookSecret?: string;
  prices: PlanPrices;
  /** The plans that these are the prices of. */
  plans: readonly Plan[];
  /** The id of a portal configuration. Default: the default configuration of the Stripe account. */
  portalConfiguration?: string;
  /** Another address than Stripe's own. */
  apiBase?: string;
  /** True if Stripe computes tax and adds it to every payment. */
  collectsTax?: boolean;
  /** True if checkout pages accept promotion codes. */
  acceptsPromotionCodes?: boolean;
}

export type StripeProcessor = ReturnType<typeof createStripeProcessor>;

/** Creates the payment processor that uses Stripe, through Stripe's own library. */
export function createStripeProcessor({
  secretKey,
  webhookSecret,
  connectWebhookSecret = webhookSecret,
  prices,
  plans,
  portalConfiguration,
  apiBase,
  collectsTax = false,
  acceptsPromotionCodes = false,
}: StripeOptions) {
  const stripe = createStripeClient(secretKey, apiBase);
  return {
    isSimulated: false,
    ...buildPriceMethods({ stripe, prices, plans }),
    ...buildCheckoutMethods({ stripe, prices, portalConfiguration, collectsTax, acceptsPromotionCodes }),
    ...buildPaymentMethods(stripe, collectsTax),
    ...buildRefundMethods(stripe),
    ...buildSubscriptionMethods({ stripe, prices }),
    ...buildInvoiceMethods({ stripe, prices }),
    ...buildTopupInvoiceMethods(stripe, collectsTax),
    ...buildConnectMethods(stripe),
    ...buildEventMethods({ stripe, webhookSecret, connectWebhookSecret }),
  } satisfies PaymentProcessor;
}
