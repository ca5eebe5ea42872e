import { config } from '../../lib/config.ts';
import type { PaymentProcessor } from './processor.ts';
import { stripeProcessor } from './stripe.ts';

/** The payment processor; null where there is none, and plans and top-ups are given away. */
export const processor: PaymentProcessor | null =
  config.STRIPE_SECRET_KEY === undefined
    ? null
    : stripeProcessor({
        secretKey: config.STRIPE_SECRET_KEY,
        webhookSecret: config.STRIPE_WEBHOOK_SECRET as string,
        portalConfiguration: config.STRIPE_PORTAL_CONFIGURATION,
        apiBase: config.STRIPE_API_BASE,
        prices: {
          lite: config.STRIPE_PRICE_LITE as string,
          starter: config.STRIPE_PRICE_STARTER as string,
          pro: config.STRIPE_PRICE_PRO as string,
          studio: config.STRIPE_PRICE_STUDIO as string,
        },
      });

/** @throws Error where there is none: only reached by what comes from it. */
export function requireProcessor(): PaymentProcessor {
  if (processor === null) throw new Error('There is no payment processor: STRIPE_SECRET_KEY is not set.');
  return processor;
}

export { ProcessorError } from './processor.ts';
export type {
  PaymentFailure,
  PaymentProcessor,
  ProcessorEvent,
  ProcessorPayment,
  ProcessorSubscription,
  SubscriptionCharge,
} from './processor.ts';
