import { Model } from 'objection';

/** What a paid invoice of a referred account earned its affiliate, as far as the money is here still. */
export class Commission extends Model {
  static override tableName = 'commissions';

  declare id: number;
  declare invoice_id: string;
  declare affiliate_id: number;
  /** Who paid. */
  declare account_id: number;
  declare paid_cents: number;
  /** Of what was paid: without tax. Discounts were never paid. */
  declare net_cents: number;
  /** Of what was paid: refunded, or disputed and not won back. */
  declare reversed_cents: number;
  /** The affiliate's share of the rest. */
  declare amount_cents: number;
  /** What payouts hold of it. */
  declare settled_cents: number;
  declare paid_at: Date;
  declare payable_at: Date;
  declare is_simulated: boolean;
  declare sync_version: number;
  /** When the processor was last asked what has become of it. */
  declare synced_at: Date;
  /** Since when that cannot be done, where the last look failed. */
  declare sync_failing_since: Date | null;
  declare created_at: Date;
}
