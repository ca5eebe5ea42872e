import type { PlanSlug } from '../../spec/plans.ts';
import type { SubscriptionStatus } from '../../spec/states.ts';

/** A subscription as the processor has it now. */
export interface ProcessorSubscription {
  id: string;
  customerId: string;
  /** Of the account that it was started for; null where that is not said. */
  accountUuid: string | null;
  /** null where what it is for is none of our plans. */
  plan: PlanSlug | null;
  status: SubscriptionStatus;
  startedAt: Date;
  currentPeriodEnd: Date;
  cancelAtPeriodEnd: boolean;
  /** When it ended; null while it has not. */
  endedAt: Date | null;
  /** Whether the last invoice is: of a year, or of the change to another plan. */
  isLatestInvoicePaid: boolean;
  /** The end of the last year that was paid; null where none ever was. */
  paidUntil: Date | null;
  /** All invoices of it that were paid, newest first. */
  invoices: SubscriptionInvoice[];
}

/** A paid invoice of a subscription. */
export interface SubscriptionInvoice {
  id: string;
  /** Whether it bills a whole year, not the change to another plan. */
  isAnnual: boolean;
  /** The plan that it bills; null where none of its prices is of our plans. */
  plan: PlanSlug | null;
  paidAt: Date;
  /** The end of the period that it bills. */
  paidUntil: Date;
  /** What was paid, not what a balance or a discount covered; never below zero. */
  paidCents: number;
  /** Whether some of it was credited after the payment, possibly outside of the processor. */
  hasCreditNotes: boolean;
}

/** What went back, or is claimed back, of the money of an invoice. */
export interface InvoiceReversals {
  refundedCents: number;
  /** A charge that is disputed and neither won nor lost. */
  openDispute: string | null;
  /** A charge whose dispute was lost. */
  lostDispute: string | null;
}

export type RefundOutcome = 'refunded' | 'disputed' | 'lost' | 'incomplete';

export interface RefundState {
  /** The charge that it returns. */
  chargeId: string | null;
  /** Whether it failed: the money is with us again. */
  isFailed: boolean;
  /** Whether other refunds have returned all of the charge. */
  isChargeRefunded: boolean;
}

/** Why a payment was not credited, in the terms that matter. */
export type PaymentFailure = 'authentication_required' | 'declined' | 'canceled' | 'amount_mismatch';

/** A payment as the processor has it now. */
export interface ProcessorPayment {
  intentId: string;
  /** The top-up that it pays for; null where it is for something else. */
  topupUuid: string | null;
  status: 'pending' | 'succeeded' | 'failed';
  amountCents: number;
  /** What was refunded, or is disputed and not won back. */
  reversedCents: number;
  /** Whether it is disputed now, inquiries included. */
  isDisputed: boolean;
  failure: PaymentFailure | null;
}

/** A charge that paid a subscription's invoice. */
export interface SubscriptionCharge {
  invoiceId: string;
  subscriptionId: string;
}

/** An invoice of a subscription that was paid, and what has become of the money since. */
export interface PaidInvoice {
  customerId: string;
  subscriptionId: string;
  /** Of the account that the subscription was started for; null where that is not said. */
  accountUuid: string | null;
  /** Whether it is in the currency that all else is in; where not, the amounts are no cents. */
  isSupportedCurrency: boolean;
  /** Whether one of our plans is on it, those that were sold before included. */
  isForPlan: boolean;
  paidAt: Date;
  /** What it brought in by the processor; discounts, and what was set off against a balance, were never paid. */
  paidCents: number;
  /** The part of it that is no tax, rounded down. */
  netCents: number;
  /** The part of it that was refunded, or is disputed and not won back. */
  reversedCents: number;
}

/** How far somebody has got who is to be paid. */
export interface ConnectedAccount {
  /** They have told the processor all that it asked for. */
  isOnboarded: boolean;
  /** Transfers reach them, and their bank. */
  canReceiveTransfers: boolean;
}

export interface ProcessorEvent {
  id: string;
  type: string;
  /** Of what it is about; of a payment method, the customer's. */
  objectId: string;
}

/** An event, and the text that it came as, or would have. */
export type EventWithPayload = ProcessorEvent & { payload: string };

export interface NewCustomer {
  accountUuid: string;
  email: string;
  /** The one that it takes the place of, if that is gone. */
  replaces?: string;
}

export interface NewConnectedAccount {
  accountUuid: string;
  email: string;
  /** The one that it takes the place of, if that is gone. */
  replaces?: string;
}

/** The pages that a customer comes back to. */
export interface CheckoutReturnUrls {
  successUrl: string;
  cancelUrl: string;
}

/** A page where a top-up is paid; or its payment, where the processor needs no page. */
export type TopupCheckout = { url: string; sessionId: string } | { url: null; payment: ProcessorPayment };

/**
 * A payment processor. Money is in cents of one currency. Calls that make something take a key under which they may
 * be repeated. All of them throw ProcessorError where it is away or refuses.
 */
export interface PaymentProcessor {
  /**
   * Whether no money moves: plans and top-ups are given away, and nobody has to be made known, or to enter a payment
   * method, before. What is earned so is kept apart from what is really earned.
   */
  readonly isSimulated: boolean;

  createCustomer(customer: NewCustomer): Promise<string>;
  /** The id of a payment method that can be charged without the customer, or null. */
  findPaymentMethod(customerId: string): Promise<string | null>;

  /**
   * Opens a page where a plan's year is paid and a subscription begins. Pages that are open still are closed.
   * @returns null where the year is paid without a page: the plan is the customer's at once.
   */
  openSubscriptionCheckout(
    order: { customerId: string; accountUuid: string; plan: PlanSlug; metadata: Record<string, string> },
    addresses: CheckoutReturnUrls,
    key: string,
  ): Promise<string | null>;
  /** Opens a page where the change to another plan is confirmed. @returns null where nothing has to be. */
  openPlanChange(
    order: { customerId: string; subscriptionId: string; plan: PlanSlug },
    returnUrl: string,
  ): Promise<string | null>;
  /** Payment methods, invoices, cancellation. @returns null where there is no such page. */
  openPortal(customerId: string, returnUrl: string): Promise<string | null>;
  /** Opens a page where a top-up is paid, or takes the payment without one. */
  openTopupCheckout(
    order: { customerId: string; topupUuid: string; amountCents: number; credits: number },
    addresses: CheckoutReturnUrls,
  ): Promise<TopupCheckout>;
  /** Charges a top-up to the payment method on file, the customer being away. Repeated, it says what came of the first. */
  chargeTopup(order: {
    customerId: string;
    paymentMethodId: string;
    topupUuid: string;
    amountCents: number;
  }): Promise<ProcessorPayment>;

  readSubscription(subscriptionId: string): Promise<ProcessorSubscription | null>;
  /** Ends a subscription at once, and asks for nothing more. That it had ended before is not an error. */
  cancelSubscription(subscriptionId: string): Promise<void>;
  /** Whether the payment of its last invoice is under way: a bank may take days. */
  isPaymentProcessing(subscriptionId: string): Promise<boolean>;
  /** Switches to another plan at once, without charging or crediting anything; the next renewal charges its price. */
  changePlan(subscriptionId: string, plan: PlanSlug): Promise<void>;
  /** What went back, or is claimed back, of an invoice. */
  readReversals(invoice: Pick<SubscriptionInvoice, 'id' | 'hasCreditNotes'>): Promise<InvoiceReversals>;
  /**
   * Refunds every payment of an invoice, as far as it was not refunded before.
   * @returns `refunded` if nothing is left to refund, `disputed` while a dispute is open and decides instead,
   * `lost` if the processor refunds no more, as a dispute has been decided, and `incomplete` if its payments are less
   * than what was paid, so that the rest cannot be refunded by the processor.
   */
  refundInvoice(invoiceId: string): Promise<RefundOutcome>;
  readRefund(refundId: string): Promise<RefundState | null>;
  readPayment(intentId: string): Promise<ProcessorPayment | null>;
  /** The payment of a top-up that was charged since then, if there is one. */
  findPayment(customerId: string, topupUuid: string, since: Date): Promise<ProcessorPayment | null>;
  /** What a checkout page led to so far. */
  readCheckoutSession(
    sessionId: string,
  ): Promise<{ subscriptionId: string | null; intentId: string | null; isOpen: boolean } | null>;
  /** The payment behind a charge, if it was a top-up's; else the subscription's invoice that it paid. */
  readCharge(chargeId: string): Promise<ProcessorPayment | SubscriptionCharge | null>;
  /** The charge that a dispute is about. */
  findDisputedCharge(disputeId: string): Promise<string | null>;
  /** The subscription that an invoice is for; null where it is for something else. */
  findInvoiceSubscription(invoiceId: string): Promise<string | null>;

  /** The invoice that a credit note takes something back of. */
  findCreditedInvoice(creditNoteId: string): Promise<string | null>;

  /** An invoice, if it is a subscription's and is paid. */
  readInvoice(invoiceId: string): Promise<PaidInvoice | null>;

  /** Makes an account that can be paid to, once for each of ours, or for each that it takes the place of. @returns its id. */
  createConnectedAccount(owner: NewConnectedAccount): Promise<string>;
  /** Opens a page where its owner tells who they are, and where their money goes. */
  openOnboarding(
    connectAccountId: string,
    addresses: {
      returnUrl: string;
      /** Opens another page, where this one is too old. */
      refreshUrl: string;
    },
  ): Promise<string>;
  readConnectedAccount(connectAccountId: string): Promise<ConnectedAccount | null>;
  /**
   * Pays somebody, once for each payout, however often it is asked for within a day.
   * @returns the transfer's id; null where it is simulated.
   */
  createTransfer(order: { payoutUuid: string; connectAccountId: string; amountCents: number }): Promise<string | null>;
  /** The id of the transfer of a payout that was made since then, if there is one. */
  findTransfer(payoutUuid: string, since: Date): Promise<string | null>;

  /** The ids of a customer's last subscriptions that are not over. */
  listOpenSubscriptions(customerId: string): Promise<string[]>;
  listSubscriptionsSince(since: Date): AsyncIterable<string>;
  listPaymentsSince(since: Date): AsyncIterable<string>;
  /** What it has told of, or tried to; it remembers for a month. */
  listEventsSince(since: Date): AsyncIterable<EventWithPayload>;

  /**
   * Checks that a webhook's body is the processor's, and fresh.
   * @throws ProcessorError `refused`
   */
  verifyEvent(body: Buffer, signature: string): ProcessorEvent;
}

/**
 * - `refused`: it understood, and says no. Repeating it changes nothing.
 * - `away`: it could not be asked, or is broken; nobody knows whether it did what it was told.
 */
export class ProcessorError extends Error {
  readonly fault: 'refused' | 'away';
  /** The customer that it was asked about is not known there, or no longer. */
  readonly isCustomerGone: boolean;
  /** The same of a connected account. */
  readonly isConnectedAccountGone: boolean;

  constructor(
    fault: 'refused' | 'away',
    message: string,
    {
      isCustomerGone = false,
      isConnectedAccountGone = false,
      ...options
    }: ErrorOptions & { isCustomerGone?: boolean; isConnectedAccountGone?: boolean } = {},
  ) {
    super(message, options);
    this.name = 'ProcessorError';
    this.fault = fault;
    this.isCustomerGone = isCustomerGone;
    this.isConnectedAccountGone = isConnectedAccountGone;
  }
}
