import { Model } from 'objection';

/** An account that recommends us. */
export class Affiliate extends Model {
  static override tableName = 'affiliates';
  static override idColumn = 'account_id';

  declare account_id: number;
  /** What stands in its referral link. */
  declare code: string;
  /** Where payouts go to; null until it was first asked for, and where payments are simulated. */
  declare connect_account_id: string | null;
  declare connect_onboarded: boolean;
  declare payout_enabled: boolean;
  declare sync_version: number;
  declare synced_at: Date | null;
  declare created_at: Date;
}
