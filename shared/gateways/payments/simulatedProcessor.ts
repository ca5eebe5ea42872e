import {
  type ConnectedAccount,
  type NewCustomer,
  type PaymentProcessor,
  ProcessorError,
  type ProcessorEvent,
  type ProcessorPayment,
  type TopupCheckout,
  type TopupOrder,
} from './paymentProcessor.ts';
import type { InvoiceReversals } from './processorInvoice.ts';

/** The one payment method of every customer. */
const SIMULATED_PAYMENT_METHOD = 'simulated';

/**
 * The payment processor of local development: every payment succeeds immediately, and no money moves. It stores nothing,
 * so that objects of a database that was used with Stripe before are not found.
 */
export class SimulatedProcessor implements PaymentProcessor {
  readonly isSimulated = true;

  async findPlanPriceProblem(): Promise<null> {
    return null;
  }

  async createCustomer({ accountUuid }: NewCustomer): Promise<string> {
    return `simulated_${accountUuid}`;
  }

  async deleteCustomer(): Promise<void> {}

  async findPaymentMethod(): Promise<string> {
    return SIMULATED_PAYMENT_METHOD;
  }

  async openSubscriptionCheckout(): Promise<null> {
    return null;
  }

  async openPlanChange(): Promise<null> {
    return null;
  }

  async openPortal(): Promise<null> {
    return null;
  }

  async openTopupCheckout(order: TopupOrder): Promise<TopupCheckout> {
    return { url: null, payment: await this.chargeTopup(order) };
  }

  async chargeTopup({ topupUuid, accountUuid, amountCents, credits }: TopupOrder): Promise<ProcessorPayment> {
    return {
      intentId: `simulated_${topupUuid}`,
      topupUuid,
      order: { topupUuid, accountUuid, amountCents, credits },
      status: 'succeeded',
      amountCents,
      taxCents: 0,
      discountCents: 0,
      reversedCents: 0,
      isDisputed: false,
      failureCode: null,
    };
  }

  /** Fails for a payment of Stripe, so that its refund stays owed. */
  async refundTopup({
    intentId,
    ...order
  }: TopupOrder & { intentId: string }): Promise<{ outcome: 'refunded'; payment: ProcessorPayment }> {
    const payment = await this.chargeTopup(order);
    if (payment.intentId !== intentId)
      throw new ProcessorError('rejected', 'The simulated payment processor has no payments of Stripe.');
    return { outcome: 'refunded', payment: { ...payment, reversedCents: order.amountCents } };
  }

  async readSubscription(): Promise<null> {
    return null;
  }

  async cancelSubscription(): Promise<void> {}

  async setCancelAtPeriodEnd(): Promise<void> {}

  async setRenewalHeld(): Promise<void> {}

  async isPaymentProcessing(): Promise<boolean> {
    return false;
  }

  async changePrice(): Promise<void> {}

  async readReversals(): Promise<InvoiceReversals> {
    return { returnedCents: 0, reversedCents: 0, returnedAt: null, openDispute: null };
  }

  /** Fails, so that an owed refund of a Stripe invoice stays owed. */
  async refundInvoice(): Promise<never> {
    throw new ProcessorError('rejected', 'The simulated payment processor has no invoices.');
  }

  async readRefund(): Promise<null> {
    return null;
  }

  async readPayment(): Promise<null> {
    return null;
  }

  async findPayment(): Promise<null> {
    return null;
  }

  async readCheckoutSession(): Promise<null> {
    return null;
  }

  async readCharge(): Promise<null> {
    return null;
  }

  async findDisputedCharge(): Promise<null> {
    return null;
  }

  async findInvoiceSubscription(): Promise<null> {
    return null;
  }

  async findCreditedInvoice(): Promise<null> {
    return null;
  }

  async readInvoice(): Promise<null> {
    return null;
  }

  async readInvoiceDocument(): Promise<null> {
    return null;
  }

  async readTopupInvoice(): Promise<null> {
    return null;
  }

  async findTopupInvoice(): Promise<null> {
    return null;
  }

  async issueTopupInvoice(): Promise<null> {
    return null;
  }

  async createConnectedAccount(): Promise<string> {
    throw createNoConnectedAccountError();
  }

  async openOnboarding(): Promise<string> {
    throw createNoConnectedAccountError();
  }

  /** Fails, as null would disable the payouts of a stored Stripe account. */
  async readConnectedAccount(): Promise<ConnectedAccount> {
    throw createNoConnectedAccountError();
  }

  async createTransfer(): Promise<null> {
    return null;
  }

  async isTransferReversed(): Promise<boolean> {
    return false;
  }

  async findTransfer(): Promise<null> {
    return null;
  }

  async listOpenSubscriptions(): Promise<string[]> {
    return [];
  }

  listSubscriptionsSince(): AsyncIterable<never> {
    return emptyList();
  }

  listPaymentsSince(): AsyncIterable<never> {
    return emptyList();
  }

  listEventsSince(): AsyncIterable<never> {
    return emptyList();
  }

  verifyEvent(): ProcessorEvent {
    throw new ProcessorError('rejected', 'The simulated payment processor sends no events.');
  }
}

function createNoConnectedAccountError(): ProcessorError {
  return new ProcessorError('rejected', 'The simulated payment processor has no connected accounts.', {
    isConnectedAccountGone: true,
  });
}

async function* emptyList(): AsyncGenerator<never> {}
