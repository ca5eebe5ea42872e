import { Model } from 'objection';

/** One transfer to an affiliate. Created before the transfer is requested. */
export class Payout extends Model {
  static override tableName = 'payouts';
  static override idColumn = 'uuid';

  declare uuid: string;
  declare affiliate_id: number;
  /** First day of its month. */
  declare month: string;
  /** `rejected`: no money was transferred, and its commissions are payable again. */
  declare status: 'pending' | 'paid' | 'rejected';
  declare amount_cents: number;
  /** Null: its commissions are simulated, and no money is transferred. */
  declare connect_account_id: string | null;
  declare stripe_transfer_id: string | null;
  declare last_error: string | null;
  declare created_at: Date;
  declare completed_at: Date | null;
}
