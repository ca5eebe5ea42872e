import { Model } from 'objection';

/** An invoice for the customer, as the payment processor has it. A copy, so that lists do not depend on the processor. */
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
  declare attempts: number;
  /** Why the last attempt has failed, or why a subscription's invoice earns no commission. */
  declare last_error: string | null;
  /**
   * When the invoice of a paid top-up is issued or searched for next, or a subscription's invoice that should have earned
   * a commission is read again; null if nothing is left to do.
   */
  declare next_attempt_at: Date | null;
  declare created_at: Date;
  declare paid_at: Date | null;
}
