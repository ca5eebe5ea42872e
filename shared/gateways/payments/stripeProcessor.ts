import Stripe from 'stripe';
import type { PlanSlug } from '../../spec/plans.ts';
import { EVENT_TYPES } from './eventTypes.ts';
import {
  type PaymentProcessor,
  ProcessorError,
  type ProcessorPayment,
  type SubscriptionCharge,
} from './paymentProcessor.ts';
import { SIGNATURE_TOLERANCE_SECONDS } from './webhookSignature.ts';
import { buildConnectMethods } from './stripeConnect.ts';
import { readPaidInvoice } from './stripeInvoices.ts';
import { buildSubscriptionMethods } from './stripeSubscriptions.ts';
import {
  parseEvent,
  toProcessorError,
  findOrNull,
  listIds,
  unwrap,
  listEvents,
  withIdempotencyKey,
} from './stripeResponses.ts';
import {
  ACCOUNT_KEY,
  toProcessorPayment,
  CURRENCY,
  getStripeId,
  type PlanPrices,
  toUnixSeconds,
  getSubscriptionId,
  TOPUP_KEY,
} from './stripeMappers.ts';

export interface StripeOptions {
  secretKey: string;
  webhookSecret: string;
  /** Of the webhook for connected accounts, where there is one. */
  connectWebhookSecret?: string;
  prices: PlanPrices;
  /** The id of how the portal is set up. Default: as the account at Stripe has it. */
  portalConfiguration?: string;
  /** Another address than Stripe's own. */
  apiBase?: string;
}

const TIMEOUT_MS = 4_000;
/** A bank is asked, which may take its time. */
const CHARGE_TIMEOUT_MS = 10_000;
/** Stripe's library repeats what it may, under the same key. */
const MAX_NETWORK_RETRIES = 1;

/** The most types that one list of events may name. */
const EVENT_TYPES_MAX = 20;

/** Stripe may show a page in the customer's currency; all our money is in one. */
const NO_ADAPTIVE_PRICING = { enabled: false };

/** The client of Stripe's library, at Stripe's address or another one. */
export function createStripeClient(secretKey: string, apiBase?: string): Stripe {
  const base = apiBase === undefined ? undefined : new URL(apiBase);
  return new Stripe(secretKey, {
    timeout: TIMEOUT_MS,
    maxNetworkRetries: MAX_NETWORK_RETRIES,
    telemetry: false,
    ...(base && {
      host: base.hostname,
      port: base.port || (base.protocol === 'https:' ? 443 : 80),
      protocol: base.protocol === 'https:' ? ('https' as const) : ('http' as const),
    }),
  });
}

export type StripeProcessor = ReturnType<typeof createStripeProcessor>;

/** Stripe, by its own library. */
export function createStripeProcessor({
  secretKey,
  webhookSecret,
  connectWebhookSecret = webhookSecret,
  prices,
  portalConfiguration,
  apiBase,
}: StripeOptions) {
  const stripe = createStripeClient(secretKey, apiBase);
  const portalOptions = portalConfiguration === undefined ? {} : { configuration: portalConfiguration };

  const getCurrentPrice = (plan: PlanSlug) => prices[plan][0] as string;

  async function readPaymentIntent(intentId: string): Promise<ProcessorPayment | null> {
    const intent = await findOrNull(stripe.paymentIntents.retrieve(intentId, { expand: ['latest_charge'] }));
    if (intent === null) return null;
    const charge = intent.latest_charge;
    const disputes = typeof charge === 'object' && charge !== null ? await listDisputes(charge) : [];
    return toProcessorPayment(intent, disputes);
  }

  async function listDisputes({ id, disputed: isDisputed }: Stripe.Charge): Promise<Stripe.Dispute[]> {
    return isDisputed ? (await unwrap(stripe.disputes.list({ charge: id, limit: 10 }))).data : [];
  }

  async function findSubscriptionCharge(intentId: string): Promise<SubscriptionCharge | null> {
    const payment = { type: 'payment_intent', payment_intent: intentId } as const;
    const { data } = await unwrap(stripe.invoicePayments.list({ payment, limit: 1 }));
    const invoiceId = getStripeId(data[0]?.invoice);
    const invoice = invoiceId === null ? null : await findOrNull(stripe.invoices.retrieve(invoiceId));
    const subscriptionId = getSubscriptionId(invoice);
    if (invoice === null || subscriptionId === null) return null;
    return { invoiceId: invoice.id, subscriptionId };
  }

  async function findInvoiceSubscription(invoiceId: string): Promise<string | null> {
    return getSubscriptionId(await findOrNull(stripe.invoices.retrieve(invoiceId)));
  }

  /** Closes what else a customer could subscribe on. One that was paid in the meantime cannot be closed, and will tell. */
  async function expireOlderCheckoutSessions(
    customerId: string,
    { id: own, created }: Stripe.Checkout.Session,
  ): Promise<void> {
    const open = await unwrap(stripe.checkout.sessions.list({ customer: customerId, status: 'open', limit: 100 }));
    // Of two that are opened at once one stays.
    const isOlder = (other: Stripe.Checkout.Session) =>
      other.created < created || (other.created === created && other.id < own);
    const others = open.data.filter((other) => other.mode === 'subscription' && isOlder(other));
    for (const { id } of others) {
      await unwrap(stripe.checkout.sessions.expire(id)).catch((error: unknown) => {
        if (!(error instanceof ProcessorError) || error.fault !== 'refused') throw error;
      });
    }
  }

  return {
    isSimulated: false,

    createCustomer: async ({ accountUuid, email, replaces }) => {
      const customer = { email, metadata: { [ACCOUNT_KEY]: accountUuid } };
      const key = ['customer', accountUuid, replaces].filter((part) => part !== undefined).join('-');
      return (await unwrap(withIdempotencyKey(key, (options) => stripe.customers.create(customer, options)))).id;
    },

    findPaymentMethod: async (customerId) => {
      const customer = await findOrNull(stripe.customers.retrieve(customerId));
      if (customer === null || customer.deleted === true) return null;
      const preferred = getStripeId(customer.invoice_settings.default_payment_method);
      if (preferred !== null) return preferred;
      return (await unwrap(stripe.customers.listPaymentMethods(customerId, { limit: 1 }))).data[0]?.id ?? null;
    },

    openSubscriptionCheckout: async ({ customerId, accountUuid, plan, metadata }, addresses, key) => {
      const ours = { ...metadata, [ACCOUNT_KEY]: accountUuid };
      const session = await unwrap(
        stripe.checkout.sessions.create(
          {
            mode: 'subscription',
            customer: customerId,
            client_reference_id: accountUuid,
            line_items: [{ price: getCurrentPrice(plan), quantity: 1 }],
            adaptive_pricing: NO_ADAPTIVE_PRICING,
            metadata: ours,
            subscription_data: { metadata: ours },
            success_url: addresses.successUrl,
            cancel_url: addresses.cancelUrl,
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

    openTopupCheckout: async ({ customerId, topupUuid, amountCents, credits }, addresses) => {
      const metadata = { [TOPUP_KEY]: topupUuid };
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
                  product_data: { name: `${credits} credits` },
                },
              },
            ],
            adaptive_pricing: NO_ADAPTIVE_PRICING,
            metadata,
            payment_intent_data: { metadata, setup_future_usage: 'off_session' },
            success_url: addresses.successUrl,
            cancel_url: addresses.cancelUrl,
          },
          // With the customer: one that was deleted is replaced, and the same key takes no other parameters.
          { idempotencyKey: `topup-session-${topupUuid}-${customerId}` },
        ),
      );
      return { sessionId: session.id, url: requireUrl(session.url) };
    },

    chargeTopup: async ({ customerId, paymentMethodId, topupUuid, amountCents }) => {
      const order: Stripe.PaymentIntentCreateParams = {
        amount: amountCents,
        currency: CURRENCY,
        customer: customerId,
        payment_method: paymentMethodId,
        off_session: true,
        confirm: true,
        // Nobody is there to be sent to another page and back.
        automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
        metadata: { [TOPUP_KEY]: topupUuid },
      };
      try {
        return toProcessorPayment(
          await stripe.paymentIntents.create(order, {
            // Without the customer and the card, on purpose: another key could charge the top-up a second time.
            idempotencyKey: `topup-${topupUuid}`,
            timeout: CHARGE_TIMEOUT_MS,
          }),
        );
      } catch (error) {
        // A card that is declined is an answer, too, with the payment that it declined in it.
        if (error instanceof Stripe.errors.StripeCardError && error.payment_intent !== undefined) {
          return toProcessorPayment(error.payment_intent);
        }
        throw toProcessorError(error);
      }
    },

    ...buildSubscriptionMethods({ stripe, prices, listDisputes }),

    readPayment: (intentId) => readPaymentIntent(intentId),

    findPayment: async (customerId, topupUuid, since) => {
      const charged = listIds(
        stripe.paymentIntents.list({ customer: customerId, created: { gte: toUnixSeconds(since) } }),
      );
      for await (const intentId of charged) {
        const payment = await readPaymentIntent(intentId);
        if (payment?.topupUuid === topupUuid) return payment;
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
      };
    },

    readCharge: async (chargeId) => {
      const charge = await findOrNull(stripe.charges.retrieve(chargeId));
      const intentId = getStripeId(charge?.payment_intent);
      if (charge === null || intentId === null) return null;
      const payment = await readPaymentIntent(intentId);
      return payment?.topupUuid === null ? findSubscriptionCharge(intentId) : payment;
    },

    findDisputedCharge: async (disputeId) =>
      getStripeId((await findOrNull(stripe.disputes.retrieve(disputeId)))?.charge),
    findInvoiceSubscription,
    findCreditedInvoice: async (creditNoteId) =>
      getStripeId((await findOrNull(stripe.creditNotes.retrieve(creditNoteId)))?.invoice),
    readInvoice: (invoiceId) =>
      readPaidInvoice(invoiceId, { stripe, readPaymentIntent, planPriceIds: new Set(Object.values(prices).flat()) }),
    ...buildConnectMethods(stripe),

    listOpenSubscriptions: async (customerId) => {
      const { data } = await unwrap(stripe.subscriptions.list({ customer: customerId, limit: 20 }));
      return data.map(({ id }) => id);
    },
    listSubscriptionsSince: (since) =>
      listIds(stripe.subscriptions.list({ status: 'all', created: { gte: toUnixSeconds(since) } })),
    listPaymentsSince: (since) => listIds(stripe.paymentIntents.list({ created: { gte: toUnixSeconds(since) } })),

    listEventsSince: async function* (since) {
      for (let from = 0; from < EVENT_TYPES.length; from += EVENT_TYPES_MAX) {
        const types = EVENT_TYPES.slice(from, from + EVENT_TYPES_MAX);
        yield* listEvents(stripe.events.list({ types, created: { gte: toUnixSeconds(since) }, limit: 100 }));
      }
    },

    verifyEvent: (body, signature) => {
      let problem: unknown;
      for (const secret of new Set([webhookSecret, connectWebhookSecret])) {
        let event: unknown;
        try {
          event = stripe.webhooks.constructEvent(body, signature, secret, SIGNATURE_TOLERANCE_SECONDS);
        } catch (error) {
          problem = error;
          continue;
        }
        return parseEvent(event);
      }
      const isUnreadable = problem instanceof SyntaxError;
      const message = isUnreadable ? 'The body is no JSON.' : 'Stripe-Signature is none of this body, or is too old.';
      throw new ProcessorError('refused', message, { cause: problem });
    },
  } satisfies PaymentProcessor;
}

function requireUrl(url: string | null): string {
  if (url === null) throw new ProcessorError('away', 'Stripe opened a page without an address.');
  return url;
}
