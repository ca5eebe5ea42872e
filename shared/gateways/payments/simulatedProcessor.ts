import { now } from '../../lib/clock.ts';
import { type PaymentProcessor, ProcessorError, type ProcessorPayment, type TopupOrder } from './paymentProcessor.ts';

const INTENT_PREFIX = 'simulated_';

/** The one payment method of every customer. */
const SIMULATED_PAYMENT_METHOD = 'simulated';

/**
 * The payment processor of local development: every payment succeeds immediately, and no money moves. It stores
 * nothing, so that objects of a database that was used with Stripe before are not found.
 */
export const simulatedProcessor: PaymentProcessor = {
  isSimulated: true,
  findPlanPriceProblem: async () => null,

  createCustomer: async ({ accountUuid }) => `simulated_${accountUuid}`,
  deleteCustomer: async () => {},
  findPaymentMethod: async () => SIMULATED_PAYMENT_METHOD,

  openSubscriptionCheckout: async () => null,
  openPlanChange: async () => null,
  openPortal: async () => null,
  openTopupCheckout: async (order) => ({ url: null, payment: buildPayment(order) }),
  chargeTopup: async (order) => buildPayment(order),

  /** Fails for a payment of Stripe, so that its refund stays owed. */
  refundPayment: async (intentId) => {
    if (intentId.startsWith(INTENT_PREFIX)) return 'refunded';
    throw new ProcessorError('rejected', 'The simulated payment processor has no payments of Stripe.');
  },

  readSubscription: async () => null,
  cancelSubscription: async () => {},
  setCancelAtPeriodEnd: async () => {},
  setRenewalHeld: async () => {},
  isPaymentProcessing: async () => false,
  changePrice: async () => {},
  readReversals: async () => ({ returnedCents: 0, reversedCents: 0, returnedAt: null, openDispute: null }),

  /** Fails, so that an owed refund of a Stripe invoice stays owed. */
  refundInvoice: async () => {
    throw new ProcessorError('rejected', 'The simulated payment processor has no invoices.');
  },

  readRefund: async () => null,
  readPayment: async () => null,
  findPayment: async () => null,
  findCollectionTime: async () => null,
  readCheckoutSession: async () => null,
  readCharge: async () => null,
  findDisputedCharge: async () => null,
  findInvoiceSubscription: async () => null,
  findCreditedInvoice: async () => null,

  readInvoice: async () => null,
  readInvoiceDocument: async () => null,
  readTopupInvoice: async () => null,
  findTopupInvoice: async () => null,
  issueTopupInvoice: async () => null,

  createConnectedAccount: rejectConnectedAccount,
  openOnboarding: rejectConnectedAccount,
  /** Fails, as null would disable the payouts of a stored Stripe account. */
  readConnectedAccount: rejectConnectedAccount,
  createTransfer: rejectConnectedAccount,
  listTransfers: rejectConnectedAccount,
  isTransferReversed: async () => false,

  listOpenSubscriptions: async () => [],
  listSubscriptionsSince: emptyList,
  listPaymentsSince: emptyList,
  listEventsSince: emptyList,

  verifyEvent: () => {
    throw new ProcessorError('rejected', 'The simulated payment processor sends no events.');
  },
};

function buildPayment({ topupUuid, accountUuid, amountCents, credits }: TopupOrder): ProcessorPayment {
  return {
    intentId: `${INTENT_PREFIX}${topupUuid}`,
    topupUuid,
    order: { topupUuid, accountUuid, amountCents, credits },
    isAutomatic: false,
    paidAt: now(),
    isDelayed: false,
    status: 'succeeded',
    amountCents,
    taxCents: 0,
    discountCents: 0,
    reversedCents: 0,
    isDisputed: false,
    failureCode: null,
  };
}

async function rejectConnectedAccount(): Promise<never> {
  throw new ProcessorError('rejected', 'The simulated payment processor has no connected accounts.', {
    isConnectedAccountGone: true,
  });
}

async function* emptyList(): AsyncGenerator<never> {}
