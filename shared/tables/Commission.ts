import { Model } from 'objection';

/** Commission of an affiliate for a paid invoice of a referred account, less reversals. */
export class Commission extends Model {
  static override tableName = 'commissions';

  declare id: number;
  declare invoice_id: string;
  declare affiliate_id: number;
  /** Referred account that paid the invoice. */
  declare account_id: number;
  declare paid_cents: number;
  /** Paid amount without tax. Discounts are not part of it. */
  declare net_cents: number;
  /** Part of the paid amount that was refunded or lost in a dispute. */
  declare reversed_cents: number;
  /** The affiliate's share of the net amount that was not reversed. */
  declare amount_cents: number;
  /** Amount that payouts contain. */
  declare settled_cents: number;
  declare readonly outstanding_cents: number;
  declare paid_at: Date;
  declare payable_at: Date;
  declare is_simulated: boolean;
  declare sync_version: number;
  /** Time of the last sync with the payment processor. */
  declare synced_at: Date;
  /** Start of the current series of failed syncs. */
  declare sync_failing_since: Date | null;
  declare created_at: Date;
}
