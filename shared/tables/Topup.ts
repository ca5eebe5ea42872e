import { Model } from 'objection';

/** One payment for credits. Created before the payment starts. */
export class Topup extends Model {
  static override tableName = 'topups';
  static override idColumn = 'uuid';

  declare uuid: string;
  declare account_id: number;
  /** The member who bought it; null for an automatic one. */
  declare member_number: number | null;
  declare kind: 'manual' | 'automatic';
  declare status: 'pending' | 'succeeded' | 'failed';
  /** The ordered amount, without tax and before discounts. */
  declare amount_cents: number;
  /**
   * Fixed when the payment starts. If a discount reduced the price, replaced by those of `net_cents` when it is paid.
   */
  declare credits: number;
  /** Balance that the create needs for which it is charged; null for a manual one, and below the threshold. */
  declare needed_credits: number | null;
  /** The paid amount without tax and after discounts; null until it is paid, and for payments without this record. */
  declare net_cents: number | null;
  declare tax_cents: number | null;
  declare discount_cents: number | null;
  declare stripe_session_id: string | null;
  declare stripe_payment_intent_id: string | null;
  declare failure_code: string | null;
  /** The part of the net amount that was refunded, or disputed and not won. */
  declare reversed_cents: number;
  /** The net amount less what was reversed. Computed by the database. */
  declare readonly kept_cents: number;
  /** True if the payment had an open or lost dispute at the last sync, inquiries included. */
  declare is_disputed: boolean;
  /** Credits taken back for the reversed amount, limited by what was left of the top-up. */
  declare credits_reversed: number;
  /**
   * Credits of the reversed amount that are still to be taken back; negative: to be returned. Computed by the database.
   */
  declare readonly credits_owed: number;
  /** Number of changes of credits_reversed. Part of each change's effect key. */
  declare reversal_count: number;
  declare sync_version: number;
  declare created_at: Date;
  declare completed_at: Date | null;
}
