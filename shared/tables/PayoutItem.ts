import { Model } from 'objection';

/** Part of a commission in a payout; negative if a refund is deducted. */
export class PayoutItem extends Model {
  static override tableName = 'payout_items';
  static override idColumn = ['payout_uuid', 'commission_id'];

  declare payout_uuid: string;
  declare commission_id: number;
  declare amount_cents: number;
}
