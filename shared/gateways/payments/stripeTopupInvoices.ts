import type Stripe from 'stripe';
import { type PaymentProcessor, ProcessorError, type TopupOrder } from './paymentProcessor.ts';
import type { TopupInvoice } from './processorInvoice.ts';
import { toProcessorInvoice } from './stripeInvoiceAmounts.ts';
import {
  buildTopupMetadata,
  CURRENCY,
  getTopupUuid,
  getStripeId,
  parseTopupOrder,
  toSearchStart,
  TOPUP_TAX_BEHAVIOR,
} from './stripeMappers.ts';
import { findOrNull, ignoreIfAlreadyDone, toProcessorError, unwrap } from './stripeResponses.ts';
import { fromUnixSeconds } from './stripeTime.ts';

/*
 * Stripe creates the invoice of a top-up that is paid on a page. For one that is charged without a page, this service
 * issues the invoice after the payment and attaches the payment to it. No request here charges anything: an invoice is
 * never paid or collected by Stripe, so that a repetition or a crash cannot charge a card.
 */

type TopupInvoiceMethods = Pick<PaymentProcessor, 'readTopupInvoice' | 'findTopupInvoice' | 'issueTopupInvoice'>;

interface DraftRequest {
  customerId: string;
  order: TopupOrder;
  collectsTax: boolean;
}

/**
 * Creates the draft of a top-up's invoice, or returns the one of an earlier call. A draft can neither be seen nor paid by
 * the customer. Its total includes tax.
 * @throws ProcessorError with `isAddressMissing` if tax cannot be computed.
 */
export async function draftTopupInvoice(stripe: Stripe, request: DraftRequest): Promise<Stripe.Invoice> {
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

/** Builds the methods for invoices of top-ups. */
export function buildTopupInvoiceMethods(stripe: Stripe, collectsTax: boolean): TopupInvoiceMethods {
  async function listPayments(invoice: string): Promise<string[]> {
    const { data } = await unwrap(stripe.invoicePayments.list({ invoice, status: 'paid', limit: 100 }));
    return data.map(({ payment }) => getStripeId(payment.payment_intent)).filter((id) => id !== null);
  }

  async function findTopupInvoice(intentId: string): Promise<TopupInvoice | null> {
    const payment = { type: 'payment_intent', payment_intent: intentId } as const;
    const { data } = await unwrap(stripe.invoicePayments.list({ payment, status: 'paid', limit: 1 }));
    const invoiceId = getStripeId(data[0]?.invoice);
    const invoice = invoiceId === null ? null : await findOrNull(stripe.invoices.retrieve(invoiceId));
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
    readTopupInvoice: async (invoiceId) => {
      const invoice = await findOrNull(stripe.invoices.retrieve(invoiceId));
      if (invoice === null || getTopupUuid(invoice.metadata) === null) return null;
      return toTopupInvoice(invoice, (await listPayments(invoiceId))[0] ?? null);
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
  };
}
