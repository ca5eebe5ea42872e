import { Model } from 'objection';

/** Who brought an account: written when the account is made, and never again. */
export class Referral extends Model {
  static override tableName = 'referrals';
  static override idColumn = 'account_id';

  declare account_id: number;
  declare affiliate_id: number;
  /** When the link was followed. */
  declare clicked_at: Date;
  declare created_at: Date;
}
