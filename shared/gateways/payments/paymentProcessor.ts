import type { PlanSlug } from '../../spec/plans.ts';
import type { SubscriptionStatus } from '../../spec/states.ts';

/** An invoice as the processor has it now, for the customer. Drafts are none. */
export interface ProcessorInvoice {
  id: string;
  status: 'open' | 'paid' | 'void' | 'uncollectible';
  /** The number that is printed on it. */
  number: string | null;
  /** A three-letter code in lower case. */
  currency: string;
  /** The amount with tax and after discounts. */
  totalCents: number;
  /** The part of the total that is tax. */
  taxCents: number;
  /** The part of the price that discounts have taken off. */
  discountCents: number;
  /** Page and file of the processor. The addresses expire some weeks after they were read. */
  hostedUrl: string | null;
  pdfUrl: string | null;
  createdAt: Date;
  paidAt: Date | null;
}

/** The invoice of a top-up. */
export interface TopupInvoice {
  document: ProcessorInvoice;
  topupUuid: string;
  /** The payment of it; null if there is none. */
  intentId: string | null;
}

/** A paid invoice of a subscription. */
export interface SubscriptionInvoice {
  id: string;
  /** True if it bills a whole year, not a plan change. */
  isAnnual: boolean;
  /** The plan that it bills; null if its prices belong to no plan. */
  plan: PlanSlug | null;
  /** The price of that plan at the processor; null without a plan. */
  priceId: string | null;
  paidAt: Date;
  /** The start of the period that it bills. */
  periodStart: Date;
  /** The end of the period that it bills. */
  paidUntil: Date;
  /** The paid amount, without what a balance or a discount covered; never negative. */
  paidCents: number;
  /** True if it has credit notes from after the payment, which may record refunds outside of the processor. */
  hasCreditNotes: boolean;
}

/** The part of an invoice's payments that was returned to the customer. */
export interface InvoiceReversals {
  /** Returned for good, by refunds and by disputes that were lost or prevented. */
  returnedCents: number;
  /** The same, and what open disputes have withdrawn. */
  reversedCents: number;
  /** When everything that was paid had been returned; null while a part is left. */
  returnedAt: Date | null;
  /** A charge whose amount an open dispute has withdrawn. */
  openDispute: string | null;
}

/** A paid invoice of a subscription with what was returned of it. */
export type ReviewedInvoice = SubscriptionInvoice & InvoiceReversals;

/** A subscription as the processor has it now. */
export interface ProcessorSubscription {
  id: string;
  customerId: string;
  /** The account that it was started for; null if the metadata does not say. */
  accountUuid: string | null;
  /** null if its price belongs to no plan. */
  plan: PlanSlug | null;
  /** The id of its price. */
  priceId: string | null;
  /** When that price and its plan begin to apply: one that is due at the renewal may have been set before. */
  priceFrom: Date;
  status: SubscriptionStatus;
  startedAt: Date;
  currentPeriodEnd: Date;
  cancelAtPeriodEnd: boolean;
  /** True if it is not renewed because of `setRenewalHeld`. */
  isRenewalHeld: boolean;
  /** When it ended; null while it has not. */
  endedAt: Date | null;
  /** True if its latest invoice is paid, be it for a year or for a plan change. */
  isLatestInvoicePaid: boolean;
  /** The end of the last paid year; null if no year was paid. */
  paidUntil: Date | null;
  /** All its paid invoices, newest first. */
  invoices: SubscriptionInvoice[];
  /** All its invoices that are not drafts, as documents for the customer. */
  documents: ProcessorInvoice[];
}

export type RefundOutcome = 'refunded' | 'disputed' | 'refused' | 'incomplete';
export type ChargeRefundOutcome = Exclude<RefundOutcome, 'incomplete'>;

export interface RefundState {
  /** The refunded charge. */
  chargeId: string | null;
  /** True if it failed at the bank, so that the money is back with the service. */
  isFailed: boolean;
  /** True if the charge is fully refunded by other refunds. */
  isChargeRefunded: boolean;
}

/** Reason why a payment was not credited. `nothing_paid`: a discount covered the whole amount. */
export type PaymentFailureCode =
  | 'authentication_required'
  | 'declined'
  | 'canceled'
  | 'amount_mismatch'
  | 'nothing_paid'
  | 'address_required';

/**
 * An order of credits. Stored with its payment, so that a restored database that does not know it can find it there.
 */
export interface TopupOrder {
  topupUuid: string;
  accountUuid: string;
  amountCents: number;
  credits: number;
}

/** A payment as the processor has it now. */
export interface ProcessorPayment {
  intentId: string;
  /** The top-up that it pays for; null if it is for something else. */
  topupUuid: string | null;
  /** The order of that top-up; null if the metadata does not say. */
  order: TopupOrder | null;
  /** True if `chargeTopup` has made it. */
  isAutomatic: boolean;
  status: 'pending' | 'succeeded' | 'failed';
  /** When it was charged; null unless it has succeeded. */
  paidAt: Date | null;
  /**
   * True if the money may have arrived days after the charge, as that of a bank debit: `findCollectionTime` says when.
   */
  isDelayed: boolean;
  /** The amount with tax and after discounts. */
  amountCents: number;
  /** The part of the amount that is tax. */
  taxCents: number;
  /** The part of the order that discounts have taken off. */
  discountCents: number;
  /** The part that was refunded, or is disputed and not won back. */
  reversedCents: number;
  /** True if it has an open or lost dispute, inquiries included. */
  isDisputed: boolean;
  failureCode: PaymentFailureCode | null;
}

/** The state of a checkout page. */
export interface CheckoutSessionState {
  subscriptionId: string | null;
  intentId: string | null;
  /** True while it is open, and after that while the customer's bank account is being verified, which takes days. */
  mayBePaid: boolean;
  /** True if it was completed without a payment, as discounts covered everything. */
  isFree: boolean;
}

/** A charge that paid a subscription's invoice. */
export interface SubscriptionCharge {
  invoiceId: string;
  subscriptionId: string;
}

/** A paid invoice of a subscription, with its refunds and disputes. */
export interface PaidInvoice {
  customerId: string;
  subscriptionId: string;
  /** The account that the subscription was started for; null if the metadata does not say. */
  accountUuid: string | null;
  /** True if it is in the service's currency. If not, the amounts are not in cents of it. */
  isSupportedCurrency: boolean;
  /** True if it bills a plan, including prices that are no longer sold. */
  isForPlan: boolean;
  paidAt: Date;
  /** The amount paid through the processor, without discounts and balances. */
  paidCents: number;
  /** The part of `paidCents` that is not tax, rounded down. */
  netCents: number;
  /** The part of `paidCents` that was refunded, or is disputed and not won back. */
  reversedCents: number;
}

/** The onboarding state of an account that receives payouts. */
export interface ConnectedAccount {
  /** True if the owner has submitted all required details. */
  isOnboarded: boolean;
  /** True if transfers reach the account and the owner's bank. */
  canReceiveTransfers: boolean;
}

/** The transfer of a payout. */
export interface ProcessorTransfer {
  id: string;
  /** The connected account that received it. */
  connectAccountId: string | null;
  amountCents: number;
}

export interface ProcessorEvent {
  id: string;
  type: string;
  /** The id of its object; for a payment method, the id of the customer. */
  objectId: string;
}

/** An event with its webhook body, or the body that its webhook would have. */
export type EventWithPayload = ProcessorEvent & { payload: string };

/** The owner of a customer or of a connected account. */
export interface ProcessorOwner {
  accountUuid: string;
  email: string;
  /** The id of the deleted one that it replaces, if any. */
  replaces?: string;
}

/** The pages that a customer returns to. */
export interface CheckoutReturnUrls {
  successUrl: string;
  cancelUrl: string;
}

/** The page where a top-up is paid, or its payment if the processor needs no page. */
export type TopupCheckout = { url: string; sessionId: string } | { url: null; payment: ProcessorPayment };

interface ErrorDetails {
  isCustomerGone?: boolean;
  isConnectedAccountGone?: boolean;
  isAddressMissing?: boolean;
}

/**
 * An error of the payment processor.
 * - `rejected`: it rejected the request. Repeating the request changes nothing.
 * - `unavailable`: it could not be reached or has failed. The outcome of the request is unknown.
 */
export class ProcessorError extends Error {
  readonly fault: 'rejected' | 'unavailable';
  /** True if the customer in the request does not exist at the processor, or no longer does. */
  readonly isCustomerGone: boolean;
  /** True if the connected account in the request does not exist at the processor, or no longer does. */
  readonly isConnectedAccountGone: boolean;
  /** True if tax cannot be computed because the address of the customer is missing or incomplete. */
  readonly isAddressMissing: boolean;

  constructor(
    fault: 'rejected' | 'unavailable',
    message: string,
    {
      isCustomerGone = false,
      isConnectedAccountGone = false,
      isAddressMissing = false,
      ...options
    }: ErrorOptions & ErrorDetails = {},
  ) {
    super(message, options);
    this.name = 'ProcessorError';
    this.fault = fault;
    this.isCustomerGone = isCustomerGone;
    this.isConnectedAccountGone = isConnectedAccountGone;
    this.isAddressMissing = isAddressMissing;
  }
}

/**
 * A payment processor. Amounts are in cents of one currency. Methods that create something use an idempotency key and
 * may be repeated. All methods throw ProcessorError if the processor is unavailable or rejects the request.
 */
export interface PaymentProcessor {
  /**
   * True if payments are simulated: plans and top-ups are free, without a customer or a payment method. Commissions of
   * simulated payments are kept apart from real ones.
   */
  readonly isSimulated: boolean;

  /**
   * Compares the configured prices of the plans with the processor's. @returns a sentence if one is certainly wrong.
   */
  findPlanPriceProblem(): Promise<string | null>;

  createCustomer(owner: ProcessorOwner): Promise<string>;
  /** Deletes a customer with their personal data and cards. Not an error if it does not exist. */
  deleteCustomer(customerId: string): Promise<void>;
  /** Returns the id of a payment method that can be charged without the customer, or null. */
  findPaymentMethod(customerId: string): Promise<string | null>;

  /**
   * Opens a page where a plan's year is paid and a subscription starts. The customer's other open pages are closed.
   * @returns null if no page is needed and the plan can be activated right away.
   */
  openSubscriptionCheckout(
    request: { customerId: string; accountUuid: string; plan: PlanSlug; metadata: Record<string, string> },
    returnUrls: CheckoutReturnUrls,
    key: string,
  ): Promise<string | null>;
  /** Opens a page where a plan change is confirmed. @returns null if no confirmation is needed. */
  openPlanChange(
    request: { customerId: string; subscriptionId: string; plan: PlanSlug },
    returnUrl: string,
  ): Promise<string | null>;
  /** Opens the portal for payment methods, invoices and cancellation. @returns null if there is none. */
  openPortal(customerId: string, returnUrl: string): Promise<string | null>;
  /** Opens a page where a top-up is paid, or charges it without a page. */
  openTopupCheckout(
    request: TopupOrder & { customerId: string },
    returnUrls: CheckoutReturnUrls,
  ): Promise<TopupCheckout>;
  /** Charges a top-up to the payment method on file. When repeated, returns the outcome of the first charge. */
  chargeTopup(request: TopupOrder & { customerId: string; paymentMethodId: string }): Promise<ProcessorPayment>;

  /** Refunds what is left of a payment. @returns the outcome, as of `refundInvoice`. */
  refundPayment(intentId: string): Promise<ChargeRefundOutcome>;

  readSubscription(subscriptionId: string): Promise<ProcessorSubscription | null>;
  /** Cancels a subscription immediately and voids its open invoice. Not an error if it has ended before. */
  cancelSubscription(subscriptionId: string): Promise<void>;
  /** Stops the renewal of a subscription, or resumes it. A plan change that is scheduled for the renewal is dropped. */
  setCancelAtPeriodEnd(subscriptionId: string, isCanceled: boolean): Promise<void>;
  /**
   * Stops the renewal of a subscription until it is resumed with `false`. A plan change that was scheduled for the
   * renewal applies when it is resumed, without proration.
   */
  setRenewalHeld(subscriptionId: string, isHeld: boolean): Promise<void>;
  /**
   * Returns whether a bank is processing the payment of its latest invoice, or a bank account is being verified for it.
   * Both may take days.
   */
  isPaymentProcessing(subscriptionId: string): Promise<boolean>;
  /** Switches to another price immediately, without proration; the next renewal charges it. */
  changePrice(subscriptionId: string, priceId: string): Promise<void>;
  /** Reads what was returned of a paid invoice. */
  readReversals(invoice: Pick<SubscriptionInvoice, 'id' | 'paidCents' | 'hasCreditNotes'>): Promise<InvoiceReversals>;
  /**
   * Refunds what is left of all payments of an invoice, less what was credited outside of the processor.
   * @returns `refunded` if nothing is left to refund, also because a lost dispute has returned it; `disputed` while an
   * open dispute decides instead; `refused` if a dispute that was won rules out a refund; `incomplete` if a part was
   * paid outside of the processor and cannot be refunded.
   */
  refundInvoice(invoiceId: string): Promise<RefundOutcome>;
  readRefund(refundId: string): Promise<RefundState | null>;
  readPayment(intentId: string): Promise<ProcessorPayment | null>;
  /** Searches for the payment of a top-up that was created at that time. */
  findPayment(customerId: string, topupUuid: string, createdAt: Date): Promise<ProcessorPayment | null>;
  /** Searches for the time at which a payment succeeded, since its charge. The processor lists it for a month. */
  findCollectionTime(intentId: string, chargedAt: Date): Promise<Date | null>;
  /** Reads the subscription or payment that a checkout page has created so far. */
  readCheckoutSession(sessionId: string): Promise<CheckoutSessionState | null>;
  /** Reads the payment of a charge if it is for a top-up, else the subscription invoice that it paid. */
  readCharge(chargeId: string): Promise<ProcessorPayment | SubscriptionCharge | null>;
  /** Returns the charge of a dispute. */
  findDisputedCharge(disputeId: string): Promise<string | null>;
  /** Returns the subscription that an invoice is for; null if it is for something else. */
  findInvoiceSubscription(invoiceId: string): Promise<string | null>;

  /** Returns the invoice of a credit note. */
  findCreditedInvoice(creditNoteId: string): Promise<string | null>;

  /** Reads an invoice if it is paid and for a subscription. */
  readInvoice(invoiceId: string): Promise<PaidInvoice | null>;
  /** Reads an invoice as a document for the customer. @returns null if there is none, or it is a draft. */
  readInvoiceDocument(invoiceId: string): Promise<ProcessorInvoice | null>;
  /** Reads an invoice if it is for a top-up. */
  readTopupInvoice(invoiceId: string): Promise<TopupInvoice | null>;
  /** Returns the invoice that a payment of a top-up has paid. */
  findTopupInvoice(intentId: string): Promise<TopupInvoice | null>;
  /**
   * Issues the invoice of a top-up that was paid without a page, and records the payment on it. Charges nothing. May be
   * repeated at any time. @returns null if the payment is not a successful one of a top-up.
   */
  issueTopupInvoice(intentId: string): Promise<TopupInvoice | null>;

  /** Creates a connected account, once per account of this service and replaced id. @returns its id. */
  createConnectedAccount(owner: ProcessorOwner): Promise<string>;
  /** Opens the page where the owner enters their identity and bank account. */
  openOnboarding(
    connectAccountId: string,
    returnUrls: {
      returnUrl: string;
      /** The page that an expired onboarding page redirects to. */
      refreshUrl: string;
    },
  ): Promise<string>;
  readConnectedAccount(connectAccountId: string): Promise<ConnectedAccount | null>;
  /**
   * Transfers a payout to a connected account, once per payout even if repeated within a day.
   * @param request.accountUuid the affiliate, of whom {@link listTransfers} lists it.
   */
  createTransfer(request: {
    payoutUuid: string;
    accountUuid: string;
    connectAccountId: string;
    amountCents: number;
  }): Promise<ProcessorTransfer>;
  /** Lists the transfers of an affiliate's payouts, oldest first, without those that were reversed as a whole. */
  listTransfers(accountUuid: string): Promise<ProcessorTransfer[]>;
  /** Returns whether all of a transfer was reversed, by hand. */
  isTransferReversed(transferId: string): Promise<boolean>;

  /** Returns the ids of a customer's latest subscriptions that have not ended. */
  listOpenSubscriptions(customerId: string): Promise<string[]>;
  listSubscriptionsSince(since: Date): AsyncIterable<string>;
  /** Lists the ids of all payments, or of those of a customer. */
  listPaymentsSince(since: Date, customerId?: string): AsyncIterable<string>;
  /** Lists events, whether or not their webhooks arrived. The processor keeps them for a month. */
  listEventsSince(since: Date): AsyncIterable<EventWithPayload>;

  /**
   * Verifies the signature and age of a webhook.
   * @throws ProcessorError `rejected`
   */
  verifyEvent(body: Buffer, signature: string): ProcessorEvent | null;
}
