import Stripe from 'stripe';
import {
  type ChargeRefundOutcome,
  type PaymentProcessor,
  ProcessorError,
  type ProcessorPayment,
  type SubscriptionCharge,
  type TopupInvoice,
  type TopupOrder,
} from './paymentProcessor.ts';
import {
  findOrNull,
  ignoreIfAlreadyDone,
  listIds,
  type StripeOptions,
  toProcessorError,
  unwrap,
  withIdempotencyKey,
} from './stripeClient.ts';
import {
  AUTOMATIC_METADATA,
  buildTaxMetadata,
  buildTopupMetadata,
  computeReversals,
  CURRENCY,
  fromUnixSeconds,
  getLatestCharge,
  getStripeId,
  getSubscriptionId,
  getTopupUuid,
  getTotalWithoutTax,
  hasPageAmounts,
  isDisputeOpen,
  isUnconfirmed,
  parseTopupOrder,
  TOPUP_TAX_BEHAVIOR,
  toProcessorInvoice,
  toProcessorPayment,
  toSearchStart,
} from './stripeMappers.ts';

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
async function readPaymentIntent(stripe: Stripe, intentId: string): Promise<ProcessorPayment | null> {
  const intent = await retrieveIntent(stripe, intentId);
  return intent === null ? null : readPaymentOfIntent(stripe, intent);
}

function retrieveIntent(stripe: Stripe, intentId: string): Promise<Stripe.PaymentIntent | null> {
  return findOrNull(stripe.paymentIntents.retrieve(intentId, { expand: ['latest_charge'] }));
}

async function readPaymentOfIntent(stripe: Stripe, intent: Stripe.PaymentIntent): Promise<ProcessorPayment> {
  const charge = getLatestCharge(intent);
  const disputes = charge === null ? [] : await listDisputes(stripe, charge);
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

/** Finds the invoice that a payment belongs to. */
async function findInvoice(
  stripe: Stripe,
  intentId: string,
  filter: { status?: 'paid' } = {},
): Promise<Stripe.Invoice | null> {
  const payment = { type: 'payment_intent', payment_intent: intentId } as const;
  const { data } = await unwrap(stripe.invoicePayments.list({ payment, ...filter, limit: 1 }));
  const invoiceId = getStripeId(data[0]?.invoice);
  return invoiceId === null ? null : findOrNull(stripe.invoices.retrieve(invoiceId));
}

async function findSubscriptionCharge(stripe: Stripe, intentId: string): Promise<SubscriptionCharge | null> {
  const invoice = await findInvoice(stripe, intentId);
  const subscriptionId = getSubscriptionId(invoice);
  if (invoice === null || subscriptionId === null) return null;
  return { invoiceId: invoice.id, subscriptionId };
}

/** Returns what neither refunds nor disputes have returned of a charge. */
export function computeUnreturnedCents(charge: Stripe.Charge, disputes: Stripe.Dispute[]): number {
  return Math.max(0, charge.amount - computeReversals(charge, disputes).returnedCents);
}

/**
 * Refunds what is left of a charge. May be repeated: an idempotency key and Stripe itself prevent a second refund.
 * @param creditedCents what was returned of it outside of Stripe.
 */
export async function refundCharge(
  stripe: Stripe,
  intentId: string,
  { charge, disputes, creditedCents }: { charge: Stripe.Charge; disputes: Stripe.Dispute[]; creditedCents: number },
): Promise<ChargeRefundOutcome> {
  const restCents = computeUnreturnedCents(charge, disputes) - creditedCents;
  if (restCents <= 0) return 'refunded';
  if (disputes.some(isDisputeOpen)) return 'disputed';
  const part = creditedCents === 0 ? null : { amount: restCents };
  const key = part === null ? `refund-${intentId}` : `refund-${intentId}-${restCents}`;
  const params = { payment_intent: intentId, ...part };
  const refund = withIdempotencyKey(key, (options) => stripe.refunds.create(params, options));
  // Stripe may refund nothing of a charge that was disputed, whatever the outcome.
  if ((await ignoreIfAlreadyDone(refund, ['charge_already_refunded', 'charge_disputed'])) !== 'charge_disputed')
    return 'refunded';
  // The next attempt finds a dispute that was opened just now.
  return disputes.length === 0 ? 'disputed' : 'refused';
}

/*
 * Stripe creates the invoice of a top-up that is paid on a page. For one that is charged without a page, this service
 * issues the invoice after the payment and attaches the payment to it. No request here charges anything: an invoice is
 * never paid or collected by Stripe, so that a repetition or a crash cannot charge a card.
 */

interface DraftRequest {
  customerId: string;
  order: TopupOrder;
  collectsTax: boolean;
}

/**
 * Creates the draft of a top-up's invoice, or returns the one of an earlier call. A draft can neither be seen nor paid
 * by the customer. Its total includes tax.
 * @throws ProcessorError with `isAddressMissing` if tax cannot be computed.
 */
async function draftTopupInvoice(stripe: Stripe, request: DraftRequest): Promise<Stripe.Invoice> {
  const { customerId, order, collectsTax } = request;
  const metadata = buildTopupMetadata(order);
  const draft = await unwrap(
    stripe.invoices.create(
      {
        customer: customerId,
        currency: CURRENCY,
        collection_method: 'charge_automatically',
        // Neither finalized nor collected by Stripe.
        auto_advance: false,
        pending_invoice_items_behavior: 'exclude',
        // Without the discounts of the customer.
        discounts: '',
        ...(collectsTax ? { automatic_tax: { enabled: true } } : {}),
        metadata,
      },
      { idempotencyKey: `topup-invoice-${order.topupUuid}-${customerId}` },
    ),
  );
  return fillDraft(stripe, draft.id, request);
}

/** Adds the item of a draft, once, and checks that tax was computed. */
async function fillDraft(stripe: Stripe, id: string, request: DraftRequest): Promise<Stripe.Invoice> {
  const { customerId, order, collectsTax } = request;
  const empty = await unwrap(stripe.invoices.retrieve(id));
  if (empty.status === 'draft' && empty.lines.data.length === 0) {
    await unwrap(
      stripe.invoiceItems.create(
        {
          customer: customerId,
          invoice: id,
          currency: CURRENCY,
          amount: order.amountCents,
          description: `${order.credits} credits`,
          discountable: false,
          ...(collectsTax ? { tax_behavior: TOPUP_TAX_BEHAVIOR } : {}),
        },
        { idempotencyKey: `topup-invoice-item-${id}` },
      ),
    );
  }
  const filled = await unwrap(stripe.invoices.retrieve(id));
  const taxStatus = filled.automatic_tax?.status ?? null;
  if (collectsTax && filled.status === 'draft' && taxStatus !== 'complete') {
    const isAddressMissing = taxStatus === 'requires_location_inputs';
    const message = `Stripe could not compute the tax of ${id}: ${taxStatus}.`;
    throw new ProcessorError(isAddressMissing ? 'rejected' : 'unavailable', message, { isAddressMissing });
  }
  return filled;
}

/** Maps the invoice of a top-up. @returns null for a draft, and if it is for something else. */
function toTopupInvoice(invoice: Stripe.Invoice, intentId: string | null): TopupInvoice | null {
  const topupUuid = getTopupUuid(invoice.metadata);
  const document = toProcessorInvoice(invoice);
  return topupUuid === null || document === null ? null : { document, topupUuid, intentId };
}

/** Builds the methods for payments of top-ups, their refunds and invoices, and for charges. */
export function buildPaymentMethods(stripe: Stripe, { collectsTax }: StripeOptions) {
  async function findTopupInvoice(intentId: string): Promise<TopupInvoice | null> {
    const invoice = await findInvoice(stripe, intentId, { status: 'paid' });
    return invoice === null ? null : toTopupInvoice(invoice, intentId);
  }

  /** Searches for the invoice of an earlier attempt, as idempotency keys expire after a day. */
  async function findDraft(customer: string, order: TopupOrder, paidAt: Date): Promise<Stripe.Invoice | null> {
    try {
      for await (const invoice of stripe.invoices.list({ customer, created: { gte: toSearchStart(paidAt) } })) {
        const isOpen = invoice.status === 'draft' || invoice.status === 'open' || invoice.status === 'paid';
        if (isOpen && getTopupUuid(invoice.metadata) === order.topupUuid) return invoice;
      }
    } catch (error) {
      throw toProcessorError(error);
    }
    return null;
  }

  /** Returns why a draft must not be finalized, or null. A balance that covers it would be lost. */
  async function findDraftProblem({ total, customer }: Stripe.Invoice, paidCents: number): Promise<string | null> {
    if (total !== paidCents) return `The invoice is over ${total} cents, and ${paidCents} were paid.`;
    const owner = await findOrNull(stripe.customers.retrieve(getStripeId(customer) ?? ''));
    if (owner === null || owner.deleted === true) return 'The customer was deleted.';
    return owner.balance === 0 ? null : `The customer has a balance of ${owner.balance} cents, which it would use.`;
  }

  /**
   * Finalizes a draft whose total is the paid amount. Stripe then computes tax again, and applies the balance of the
   * customer, which cannot be avoided. An invoice that asks for another amount is withdrawn.
   */
  async function finalize(draft: Stripe.Invoice, paidCents: number): Promise<Stripe.Invoice> {
    if (draft.status === 'draft') {
      const problem = await findDraftProblem(draft, paidCents);
      // The draft stays, for the next attempt and for staff.
      if (problem !== null) throw new ProcessorError('rejected', problem);
      const codes = ['invoice_already_finalized', 'invoice_not_editable'];
      await ignoreIfAlreadyDone(stripe.invoices.finalizeInvoice(draft.id, { auto_advance: false }), codes);
    }
    const invoice = await unwrap(stripe.invoices.retrieve(draft.id));
    if (invoice.status === 'open' && invoice.amount_remaining !== paidCents) {
      // Returns a balance that was applied to it meanwhile.
      await unwrap(stripe.invoices.voidInvoice(invoice.id));
      const message = `The invoice asks for ${invoice.amount_remaining} cents, and ${paidCents} were paid.`;
      throw new ProcessorError('rejected', message);
    }
    return invoice;
  }

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
        metadata: { ...buildTopupMetadata(order), ...AUTOMATIC_METADATA, ...taxMetadata },
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

    refundPayment: async (intentId) => {
      const intent = await unwrap(stripe.paymentIntents.retrieve(intentId, { expand: ['latest_charge'] }));
      const charge = getLatestCharge(intent);
      if (charge === null) throw new ProcessorError('rejected', `The payment ${intentId} has no charge.`);
      return refundCharge(stripe, intentId, {
        charge,
        disputes: await listDisputes(stripe, charge),
        creditedCents: 0,
      });
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
      const session = await findOrNull(stripe.checkout.sessions.retrieve(sessionId, { expand: ['payment_intent'] }));
      if (session === null) return null;
      const { status, payment_intent: intent } = session;
      const isVerifying = status === 'complete' && typeof intent === 'object' && intent?.status === 'requires_action';
      return {
        subscriptionId: getStripeId(session.subscription),
        intentId: getStripeId(intent),
        mayBePaid: status === 'open' || isVerifying,
        isFree: status === 'complete' && session.payment_status === 'no_payment_required',
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

    readTopupInvoice: async (invoiceId) => {
      const invoice = await findOrNull(stripe.invoices.retrieve(invoiceId));
      if (invoice === null || getTopupUuid(invoice.metadata) === null) return null;
      const { data } = await unwrap(stripe.invoicePayments.list({ invoice: invoiceId, status: 'paid', limit: 100 }));
      const intentIds = data.map(({ payment }) => getStripeId(payment.payment_intent));
      return toTopupInvoice(invoice, intentIds.find((id) => id !== null) ?? null);
    },

    findTopupInvoice,

    issueTopupInvoice: async (intentId) => {
      const intent = await findOrNull(stripe.paymentIntents.retrieve(intentId));
      const order = intent === null ? null : parseTopupOrder(intent.metadata);
      const customerId = getStripeId(intent?.customer);
      if (intent === null || order === null || customerId === null || intent.status !== 'succeeded') return null;
      const issued = await findTopupInvoice(intentId);
      if (issued !== null) return issued;
      const { amount_received: paidCents } = intent;
      // The payment decides whether tax was charged, not the configuration of today.
      const request = { customerId, order, collectsTax: collectsTax && paidCents !== order.amountCents };
      const earlier = await findDraft(customerId, order, fromUnixSeconds(intent.created));
      const draft =
        earlier === null ? await draftTopupInvoice(stripe, request) : await fillDraft(stripe, earlier.id, request);
      const invoice = await finalize(draft, paidCents);
      if (invoice.status === 'open') {
        const key = { idempotencyKey: `topup-invoice-payment-${invoice.id}` };
        await unwrap(stripe.invoices.attachPayment(invoice.id, { payment_intent: intentId }, key));
      }
      const attached = await findTopupInvoice(intentId);
      if (attached !== null) return attached;
      throw new ProcessorError('rejected', `The payment ${intentId} could not be attached to ${invoice.id}.`);
    },
  } satisfies Partial<PaymentProcessor>;
}
