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
