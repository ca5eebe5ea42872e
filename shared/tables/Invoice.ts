import { Model } from 'objection';

/**
 * An invoice for the customer, as the payment processor has it. A copy, so that lists do not depend on the processor.
 */
export class Invoice extends Model {
  static override tableName = 'invoices';
  static override idColumn = 'uuid';

  declare uuid: string;
  declare account_id: number;
  declare kind: 'subscription' | 'topup';
  declare subscription_id: number | null;
  declare topup_uuid: string | null;
  /** null until the processor has issued it, and for simulated payments. */
  declare stripe_invoice_id: string | null;
  declare number: string | null;
  declare description: string;
  declare status: 'open' | 'paid' | 'void' | 'uncollectible';
  declare currency: string;
  /** With tax and after discounts. */
  declare total_cents: number;
  declare tax_cents: number;
  declare discount_cents: number;
  /** The total without tax. */
  declare net_cents: number;
  /** The part of the total that was refunded or is disputed. */
  declare refunded_cents: number;
  /** Addresses at the processor, which expire some weeks after they were read. */
  declare hosted_invoice_url: string | null;
  declare pdf_url: string | null;
  declare sync_version: number;
  /** True for a paid top-up whose invoice the processor has yet to issue. */
  declare awaits_document: boolean;
  /** Why a subscription's invoice has no commission. */
  declare commission_problem: string | null;
  /** When it is read again for a commission; null if it will not have one. */
  declare commission_due_at: Date | null;
  declare created_at: Date;
  declare paid_at: Date | null;
}
