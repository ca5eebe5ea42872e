import {
  type ConnectedAccount,
  type InvoiceReversals,
  type NewCustomer,
  type PaymentProcessor,
  ProcessorError,
  type ProcessorEvent,
  type ProcessorPayment,
  type TopupCheckout,
} from './paymentProcessor.ts';

/** The one payment method of every customer. */
const SIMULATED_PAYMENT_METHOD = 'simulated';

/**
 * The payment processor of local development: every payment succeeds at once, and no money moves. It keeps nothing: what
 * it is asked about, such as a subscription of Stripe's in a database that was used with Stripe before, it does not know.
 */
export class SimulatedProcessor implements PaymentProcessor {
  readonly isSimulated = true;

  async createCustomer({ accountUuid }: NewCustomer): Promise<string> {
    return `simulated_${accountUuid}`;
  }

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

  async openTopupCheckout(order: { topupUuid: string; amountCents: number }): Promise<TopupCheckout> {
    return { url: null, payment: await this.chargeTopup(order) };
  }

  async chargeTopup({ topupUuid, amountCents }: { topupUuid: string; amountCents: number }): Promise<ProcessorPayment> {
    return {
      intentId: `simulated_${topupUuid}`,
      topupUuid,
      status: 'succeeded',
      amountCents,
      reversedCents: 0,
      isDisputed: false,
      failure: null,
    };
  }

  async readSubscription(): Promise<null> {
    return null;
  }

  async cancelSubscription(): Promise<void> {}

  async isPaymentProcessing(): Promise<boolean> {
    return false;
  }

  async changePlan(): Promise<void> {}

  async readReversals(): Promise<InvoiceReversals> {
    return { refundedCents: 0, openDispute: null, lostDispute: null };
  }

  /** Refuses: an invoice of Stripe's that was stored before stays owed. */
  async refundInvoice(): Promise<never> {
    throw new ProcessorError('refused', 'The simulated payment processor has no invoices.');
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

  async createConnectedAccount(): Promise<string> {
    throw createNoConnectedAccountError();
  }

  async openOnboarding(): Promise<string> {
    throw createNoConnectedAccountError();
  }

  /** Refuses: to answer null would switch off the payouts of an account of Stripe's that was stored before. */
  async readConnectedAccount(): Promise<ConnectedAccount> {
    throw createNoConnectedAccountError();
  }

  async createTransfer(): Promise<null> {
    return null;
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
    throw new ProcessorError('refused', 'The simulated payment processor sends no events.');
  }
}

function createNoConnectedAccountError(): ProcessorError {
  return new ProcessorError('refused', 'The simulated payment processor has no connected accounts.', {
    isConnectedAccountGone: true,
  });
}

async function* emptyList(): AsyncGenerator<never> {}
