import { Model } from 'objection';

/** Number of clicks on an affiliate's referral link on a day (UTC). */
export class ReferralClicks extends Model {
  static override tableName = 'referral_clicks';
  static override idColumn = ['affiliate_id', 'day'];

  declare affiliate_id: number;
  declare day: string;
  declare clicks: number;
}
