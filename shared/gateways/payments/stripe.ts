import Stripe from 'stripe';
import type { PlanSlug } from '../../spec/plans.ts';
import { EVENT_TYPES } from './eventTypes.ts';
import { type PaymentProcessor, ProcessorError, type ProcessorPayment, type SubscriptionCharge } from './processor.ts';
import { SIGNATURE_TOLERANCE_SECONDS } from './signature.ts';
import { connect } from './stripeConnect.ts';
import { readPaidInvoice } from './stripeInvoices.ts';
import { subscriptions } from './stripeSubscriptions.ts';
import { asEvent, asProcessorError, found, ids, said, told, underKey } from './stripeAnswers.ts';
import {
  ACCOUNT_KEY,
  asPayment,
  CURRENCY,
  idOf,
  type PlanPrices,
  seconds,
  subscriptionIn,
  TOPUP_KEY,
} from './stripeShapes.ts';

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
const RETRIES = 1;

/** The most types that one list of events may name. */
const EVENT_TYPES_MAX = 20;

/** Stripe may show a page in the customer's currency; all our money is in one. */
const IN_OUR_CURRENCY = { enabled: false };

/** The client of Stripe's library, at Stripe's address or another one. */
export function stripeClient(secretKey: string, apiBase?: string): Stripe {
  const base = apiBase === undefined ? undefined : new URL(apiBase);
  return new Stripe(secretKey, {
    timeout: TIMEOUT_MS,
    maxNetworkRetries: RETRIES,
    telemetry: false,
    ...(base && {
      host: base.hostname,
      port: base.port || (base.protocol === 'https:' ? 443 : 80),
      protocol: base.protocol === 'https:' ? ('https' as const) : ('http' as const),
    }),
  });
}

export type StripeProcessor = ReturnType<typeof stripeProcessor>;

/** Stripe, by its own library. */
export function stripeProcessor({
  secretKey,
  webhookSecret,
  connectWebhookSecret = webhookSecret,
  prices,
  portalConfiguration,
  apiBase,
}: StripeOptions) {
  const stripe = stripeClient(secretKey, apiBase);
  const portal = portalConfiguration === undefined ? {} : { configuration: portalConfiguration };

  const sold = (plan: PlanSlug) => prices[plan][0] as string;

  async function readIntent(intentId: string): Promise<ProcessorPayment | null> {
    const intent = await found(stripe.paymentIntents.retrieve(intentId, { expand: ['latest_charge'] }));
    if (intent === null) return null;
    const charge = intent.latest_charge;
    const disputes = typeof charge === 'object' && charge !== null ? await disputesOf(charge) : [];
    return asPayment(intent, disputes);
  }

  async function disputesOf({ id, disputed: isDisputed }: Stripe.Charge): Promise<Stripe.Dispute[]> {
    return isDisputed ? (await said(stripe.disputes.list({ charge: id, limit: 10 }))).data : [];
  }

  async function chargeOfSubscription(intentId: string): Promise<SubscriptionCharge | null> {
    const payment = { type: 'payment_intent', payment_intent: intentId } as const;
    const { data } = await said(stripe.invoicePayments.list({ payment, limit: 1 }));
    const invoiceId = idOf(data[0]?.invoice);
    const invoice = invoiceId === null ? null : await found(stripe.invoices.retrieve(invoiceId));
    const subscriptionId = subscriptionIn(invoice);
    if (invoice === null || subscriptionId === null) return null;
    return { invoiceId: invoice.id, subscriptionId };
  }

  async function subscriptionOfInvoice(invoiceId: string): Promise<string | null> {
    return subscriptionIn(await found(stripe.invoices.retrieve(invoiceId)));
  }

  /** Closes what else a customer could subscribe on. One that was paid in the meantime cannot be closed, and will tell. */
  async function closeOtherPages(customerId: string, { id: own, created }: Stripe.Checkout.Session): Promise<void> {
    const open = await said(stripe.checkout.sessions.list({ customer: customerId, status: 'open', limit: 100 }));
    // Of two that are opened at once one stays.
    const isOlder = (other: Stripe.Checkout.Session) =>
      other.created < created || (other.created === created && other.id < own);
    const others = open.data.filter((other) => other.mode === 'subscription' && isOlder(other));
    for (const { id } of others) {
      await said(stripe.checkout.sessions.expire(id)).catch((error: unknown) => {
        if (!(error instanceof ProcessorError) || error.fault !== 'refused') throw error;
      });
    }
  }

  return {
    isSimulated: false,

    createCustomer: async ({ accountUuid, email, instead }) => {
      const customer = { email, metadata: { [ACCOUNT_KEY]: accountUuid } };
      const key = ['customer', accountUuid, instead].filter((part) => part !== undefined).join('-');
      return (await said(underKey(key, (options) => stripe.customers.create(customer, options)))).id;
    },

    paymentMethodOf: async (customerId) => {
      const customer = await found(stripe.customers.retrieve(customerId));
      if (customer === null || customer.deleted === true) return null;
      const preferred = idOf(customer.invoice_settings.default_payment_method);
      if (preferred !== null) return preferred;
      return (await said(stripe.customers.listPaymentMethods(customerId, { limit: 1 }))).data[0]?.id ?? null;
    },

    openSubscriptionCheckout: async ({ customerId, accountUuid, plan, metadata }, addresses, key) => {
      const ours = { ...metadata, [ACCOUNT_KEY]: accountUuid };
      const session = await said(
        stripe.checkout.sessions.create(
          {
            mode: 'subscription',
            customer: customerId,
            client_reference_id: accountUuid,
            line_items: [{ price: sold(plan), quantity: 1 }],
            adaptive_pricing: IN_OUR_CURRENCY,
            metadata: ours,
            subscription_data: { metadata: ours },
            success_url: addresses.successUrl,
            cancel_url: addresses.cancelUrl,
          },
          { idempotencyKey: key },
        ),
      );
      await closeOtherPages(customerId, session);
      return addressIn(session.url);
    },

    openPlanSwitch: async ({ customerId, subscriptionId, plan }, returnUrl) => {
      const subscription = await said(stripe.subscriptions.retrieve(subscriptionId));
      const item = subscription.items.data[0]?.id ?? '';
      const session = await said(
        stripe.billingPortal.sessions.create({
          ...portal,
          customer: customerId,
          return_url: returnUrl,
          flow_data: {
            type: 'subscription_update_confirm',
            after_completion: { type: 'redirect', redirect: { return_url: returnUrl } },
            subscription_update_confirm: {
              subscription: subscriptionId,
              items: [{ id: item, price: sold(plan), quantity: 1 }],
            },
          },
        }),
      );
      return session.url;
    },

    openPortal: async (customerId, returnUrl) =>
      (await said(stripe.billingPortal.sessions.create({ ...portal, customer: customerId, return_url: returnUrl })))
        .url,

    openTopupCheckout: async ({ customerId, topupUuid, amountCents, credits }, addresses) => {
      const metadata = { [TOPUP_KEY]: topupUuid };
      const session = await said(
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
            adaptive_pricing: IN_OUR_CURRENCY,
            metadata,
            payment_intent_data: { metadata, setup_future_usage: 'off_session' },
            success_url: addresses.successUrl,
            cancel_url: addresses.cancelUrl,
          },
          // With the customer: one that was deleted is replaced, and the same key takes no other parameters.
          { idempotencyKey: `topup-session-${topupUuid}-${customerId}` },
        ),
      );
      return { sessionId: session.id, url: addressIn(session.url) };
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
        return asPayment(
          await stripe.paymentIntents.create(order, {
            // Without the customer and the card, on purpose: another key could charge the top-up a second time.
            idempotencyKey: `topup-${topupUuid}`,
            timeout: CHARGE_TIMEOUT_MS,
          }),
        );
      } catch (error) {
        // A card that is declined is an answer, too, with the payment that it declined in it.
        if (error instanceof Stripe.errors.StripeCardError && error.payment_intent !== undefined) {
          return asPayment(error.payment_intent);
        }
        throw asProcessorError(error);
      }
    },

    ...subscriptions({ stripe, prices, disputesOf }),

    readPayment: (intentId) => readIntent(intentId),

    findPayment: async (customerId, topupUuid, since) => {
      const charged = ids(stripe.paymentIntents.list({ customer: customerId, created: { gte: seconds(since) } }));
      for await (const intentId of charged) {
        const payment = await readIntent(intentId);
        if (payment?.topupUuid === topupUuid) return payment;
      }
      return null;
    },

    readSession: async (sessionId) => {
      const session = await found(stripe.checkout.sessions.retrieve(sessionId));
      if (session === null) return null;
      return {
        subscriptionId: idOf(session.subscription),
        intentId: idOf(session.payment_intent),
        isOpen: session.status === 'open',
      };
    },

    readCharge: async (chargeId) => {
      const charge = await found(stripe.charges.retrieve(chargeId));
      const intentId = idOf(charge?.payment_intent);
      if (charge === null || intentId === null) return null;
      const payment = await readIntent(intentId);
      return payment?.topupUuid === null ? chargeOfSubscription(intentId) : payment;
    },

    chargeOfDispute: async (disputeId) => idOf((await found(stripe.disputes.retrieve(disputeId)))?.charge),
    subscriptionOfInvoice,
    invoiceOfCreditNote: async (creditNoteId) =>
      idOf((await found(stripe.creditNotes.retrieve(creditNoteId)))?.invoice),
    readInvoice: (invoiceId) =>
      readPaidInvoice(invoiceId, { stripe, readIntent, ourPrices: new Set(Object.values(prices).flat()) }),
    ...connect(stripe),

    subscriptionsOf: async (customerId) => {
      const { data } = await said(stripe.subscriptions.list({ customer: customerId, limit: 20 }));
      return data.map(({ id }) => id);
    },
    subscriptionsSince: (since) => ids(stripe.subscriptions.list({ status: 'all', created: { gte: seconds(since) } })),
    paymentsSince: (since) => ids(stripe.paymentIntents.list({ created: { gte: seconds(since) } })),

    eventsSince: async function* (since) {
      for (let from = 0; from < EVENT_TYPES.length; from += EVENT_TYPES_MAX) {
        const types = EVENT_TYPES.slice(from, from + EVENT_TYPES_MAX);
        yield* told(stripe.events.list({ types, created: { gte: seconds(since) }, limit: 100 }));
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
        return asEvent(event);
      }
      const isUnreadable = problem instanceof SyntaxError;
      const message = isUnreadable ? 'The body is no JSON.' : 'Stripe-Signature is none of this body, or is too old.';
      throw new ProcessorError('refused', message, { cause: problem });
    },
  } satisfies PaymentProcessor;
}

function addressIn(url: string | null): string {
  if (url === null) throw new ProcessorError('away', 'Stripe opened a page without an address.');
  return url;
}
