import { Model } from 'objection';

/** An account that takes part in the affiliate program. */
export class Affiliate extends Model {
  static override tableName = 'affiliates';
  static override idColumn = 'account_id';

  declare account_id: number;
  /** Code in its referral link. */
  declare code: string;
  /** Connect account that receives payouts; null before onboarding, and if payments are simulated. */
  declare connect_account_id: string | null;
  declare connect_onboarded: boolean;
  declare payout_enabled: boolean;
  declare sync_version: number;
  declare synced_at: Date | null;
  /** Time at which the account was erased. No referral or commission is added after that. */
  declare closed_at: Date | null;
  declare created_at: Date;
}
