import type Stripe from 'stripe';
import type { PlanSlug } from '../../spec/plans.ts';
import { type PaymentProcessor, ProcessorError } from './paymentProcessor.ts';
import { findOrNull, ignoreIfRejected, type StripeOptions, unwrap, withIdempotencyKey } from './stripeClient.ts';
import {
  ACCOUNT_KEY,
  buildOwnerKey,
  buildTopupMetadata,
  CURRENCY,
  getStripeId,
  PAGE_AMOUNTS_METADATA,
  TOPUP_TAX_BEHAVIOR,
} from './stripeMappers.ts';

/** Stripe may show a page in the customer's currency; this service uses one. */
const NO_ADAPTIVE_PRICING = { enabled: false };

/** Options of a page that adds tax: it asks for the address and stores it for later payments without a page. */
const TAX_OPTIONS = {
  automatic_tax: { enabled: true },
  billing_address_collection: 'required',
  customer_update: { address: 'auto', name: 'auto' },
  tax_id_collection: { enabled: true },
} as const;

/** Explains to a customer who has a promotion code what it does to a top-up. */
const DISCOUNT_NOTE = 'A discount reduces the price and the credits in the same proportion.';

/** Builds the methods for customers, and for the pages where they pay and manage their billing. */
export function buildCheckoutMethods(
  stripe: Stripe,
  { prices, portalConfiguration, collectsTax, acceptsPromotionCodes }: StripeOptions,
) {
  const portalOptions = portalConfiguration === undefined ? {} : { configuration: portalConfiguration };
  const priceOptions = {
    ...(collectsTax ? TAX_OPTIONS : {}),
    ...(acceptsPromotionCodes ? { allow_promotion_codes: true } : {}),
  };
  /** Both change the amount on the page, so that the payment does not show what was ordered. */
  const hasPageAmounts = collectsTax || acceptsPromotionCodes;

  const getCurrentPrice = (plan: PlanSlug) => prices[plan]?.[0] as string;

  /**
   * Expires the customer's older checkout pages. One that was paid in the meantime cannot expire; its event follows.
   */
  async function expireOlderCheckoutSessions(
    customerId: string,
    { id: own, created }: Stripe.Checkout.Session,
  ): Promise<void> {
    const open = await unwrap(stripe.checkout.sessions.list({ customer: customerId, status: 'open', limit: 100 }));
    // If two pages are opened at the same time, one stays.
    const isOlder = (other: Stripe.Checkout.Session) =>
      other.created < created || (other.created === created && other.id < own);
    const others = open.data.filter((other) => other.mode === 'subscription' && isOlder(other));
    for (const { id } of others) await ignoreIfRejected(stripe.checkout.sessions.expire(id));
  }

  return {
    createCustomer: async (owner) => {
      const customer = { email: owner.email, metadata: { [ACCOUNT_KEY]: owner.accountUuid } };
      const key = buildOwnerKey('customer', owner);
      return (await unwrap(withIdempotencyKey(key, (options) => stripe.customers.create(customer, options)))).id;
    },

    deleteCustomer: async (customerId) => {
      await findOrNull(stripe.customers.del(customerId));
    },

    findPaymentMethod: async (customerId) => {
      const customer = await findOrNull(stripe.customers.retrieve(customerId));
      if (customer === null || customer.deleted === true) return null;
      const preferred = getStripeId(customer.invoice_settings.default_payment_method);
      if (preferred !== null) return preferred;
      return (await unwrap(stripe.customers.listPaymentMethods(customerId, { limit: 1 }))).data[0]?.id ?? null;
    },

    openSubscriptionCheckout: async ({ customerId, accountUuid, plan, metadata }, returnUrls, key) => {
      const ownMetadata = { ...metadata, [ACCOUNT_KEY]: accountUuid };
      const session = await unwrap(
        stripe.checkout.sessions.create(
          {
            mode: 'subscription',
            customer: customerId,
            client_reference_id: accountUuid,
            line_items: [{ price: getCurrentPrice(plan), quantity: 1 }],
            adaptive_pricing: NO_ADAPTIVE_PRICING,
            ...priceOptions,
            metadata: ownMetadata,
            subscription_data: { metadata: ownMetadata },
            success_url: returnUrls.successUrl,
            cancel_url: returnUrls.cancelUrl,
          },
          { idempotencyKey: key },
        ),
      );
      await expireOlderCheckoutSessions(customerId, session);
      return requireUrl(session.url);
    },

    openPlanChange: async ({ customerId, subscriptionId, plan }, returnUrl) => {
      const subscription = await unwrap(stripe.subscriptions.retrieve(subscriptionId));
      const item = subscription.items.data[0]?.id ?? '';
      const session = await unwrap(
        stripe.billingPortal.sessions.create({
          ...portalOptions,
          customer: customerId,
          return_url: returnUrl,
          flow_data: {
            type: 'subscription_update_confirm',
            after_completion: { type: 'redirect', redirect: { return_url: returnUrl } },
            subscription_update_confirm: {
              subscription: subscriptionId,
              items: [{ id: item, price: getCurrentPrice(plan), quantity: 1 }],
            },
          },
        }),
      );
      return session.url;
    },

    openPortal: async (customerId, returnUrl) =>
      (
        await unwrap(
          stripe.billingPortal.sessions.create({ ...portalOptions, customer: customerId, return_url: returnUrl }),
        )
      ).url,

    openTopupCheckout: async ({ customerId, ...order }, returnUrls) => {
      const { topupUuid, amountCents, credits } = order;
      const metadata = buildTopupMetadata(order);
      const session = await unwrap(
        stripe.checkout.sessions.create(
          {
            mode: 'payment',
            customer: customerId,
            line_items: [
              {
                quantity: 1,
                price_data: {
                  currency: CURRENCY,
                  unit_amount: amountCents,
                  product_data: {
                    name: `${credits} credits`,
                    ...(acceptsPromotionCodes ? { description: DISCOUNT_NOTE } : {}),
                  },
                  ...(collectsTax ? { tax_behavior: TOPUP_TAX_BEHAVIOR } : {}),
                },
              },
            ],
            adaptive_pricing: NO_ADAPTIVE_PRICING,
            ...priceOptions,
            invoice_creation: { enabled: true, invoice_data: { metadata } },
            metadata,
            payment_intent_data: {
              metadata: hasPageAmounts ? { ...metadata, ...PAGE_AMOUNTS_METADATA } : metadata,
              setup_future_usage: 'off_session',
            },
            success_url: returnUrls.successUrl,
            cancel_url: returnUrls.cancelUrl,
          },
          // Contains the customer: a deleted one is replaced, and a key cannot be reused with other parameters.
          { idempotencyKey: `topup-session-${topupUuid}-${customerId}` },
        ),
      );
      return { sessionId: session.id, url: requireUrl(session.url) };
    },
  } satisfies Partial<PaymentProcessor>;
}

function requireUrl(url: string | null): string {
  if (url === null) throw new ProcessorError('unavailable', 'Stripe opened a page without a URL.');
  return url;
}
