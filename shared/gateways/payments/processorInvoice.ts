import type { PlanSlug } from '../../spec/plans.ts';

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
