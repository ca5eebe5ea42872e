import { Model } from 'objection';

/** A refund of what is left of a top-up's payment. A task issues it at the payment processor. */
export class TopupRefund extends Model {
  static override tableName = 'topup_refunds';
  static override idColumn = 'topup_uuid';

  declare topup_uuid: string;
  declare account_id: number;
  /** `staff`: requested by staff. `erased`: paid for an account that is erased. */
  declare cause: 'staff' | 'erased';
  /** `rejected`: the payment processor does not refund it, or the refund failed. Staff decide. */
  declare status: 'owed' | 'refunded' | 'rejected';
  /** Why it was rejected, or a note about the refund. */
  declare last_error: string | null;
  declare created_at: Date;
  declare completed_at: Date | null;
}
