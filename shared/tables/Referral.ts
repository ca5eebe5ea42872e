import { Model } from 'objection';

/** The affiliate that referred an account. Written when the account is created, never changed. */
export class Referral extends Model {
  static override tableName = 'referrals';
  static override idColumn = 'account_id';

  declare account_id: number;
  declare affiliate_id: number;
  /** Time of the click on the referral link. */
  declare clicked_at: Date;
  /** Keyed hash of the network of the sign-up, to compare referrals of one affiliate; null if unknown or removed. */
  declare network: string | null;
  declare created_at: Date;
}
