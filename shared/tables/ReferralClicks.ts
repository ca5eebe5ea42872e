import { Model } from 'objection';

/** How often an affiliate's link was followed on a day (UTC). */
export class ReferralClicks extends Model {
  static override tableName = 'referral_clicks';
  static override idColumn = ['affiliate_id', 'day'];

  declare affiliate_id: number;
  declare day: string;
  declare clicks: number;
}
