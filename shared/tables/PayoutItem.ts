import { Model } from 'objection';

/** What a payout holds of a commission; below zero where a refund is taken off. */
export class PayoutItem extends Model {
  static override tableName = 'payout_items';
  static override idColumn = ['payout_uuid', 'commission_id'];

  declare payout_uuid: string;
  declare commission_id: number;
  declare amount_cents: number;
}
