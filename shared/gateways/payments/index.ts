import { config } from '../../lib/config.ts';
import type { PaymentProcessor } from './processor.ts';

/** The payment processor; null where there is none, and plans and top-ups are given away. */
export let processor: PaymentProcessor | null = null;

/** Opens the payment processor of the configuration. */
export async function openPayments(): Promise<void> {
  processor =
    config.STRIPE_SECRET_KEY === undefined
      ? null
      : // Its library is loaded only where it is used.
        (await import('./stripe.ts')).stripeProcessor({
          secretKey: config.STRIPE_SECRET_KEY,
          webhookSecret: config.STRIPE_WEBHOOK_SECRET as string,
          connectWebhookSecret: config.STRIPE_CONNECT_WEBHOOK_SECRET,
          portalConfiguration: config.STRIPE_PORTAL_CONFIGURATION,
          apiBase: config.STRIPE_API_BASE,
          prices: {
            lite: listed(config.STRIPE_PRICE_LITE),
            starter: listed(config.STRIPE_PRICE_STARTER),
            pro: listed(config.STRIPE_PRICE_PRO),
            studio: listed(config.STRIPE_PRICE_STUDIO),
          },
        });
}

function listed(prices = ''): string[] {
  return prices.split(',').map((price) => price.trim());
}

/** @throws Error where there is none: only reached by what comes from it. */
export function requireProcessor(): PaymentProcessor {
  if (processor === null) throw new Error('There is no payment processor: STRIPE_SECRET_KEY is not set.');
  return processor;
}

export { ProcessorError } from './processor.ts';
export type {
  ConnectedAccount,
  PaidInvoice,
  PaymentFailure,
  PaymentProcessor,
  ProcessorEvent,
  ProcessorPayment,
  ProcessorSubscription,
  SubscriptionCharge,
  ToldEvent,
} from './processor.ts';
