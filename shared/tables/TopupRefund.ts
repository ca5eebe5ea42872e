import { Model } from 'objection';

/** A refund of a top-up that staff requested. A sweep issues it at the payment processor. */
export class TopupRefund extends Model {
  static override tableName = 'topup_refunds';
  static override idColumn = 'topup_uuid';

  declare topup_uuid: string;
  declare account_id: number;
  /** `rejected`: the payment processor does not refund it, or the refund failed. Staff decide. */
  declare status: 'owed' | 'refunded' | 'rejected';
  declare attempts: number;
  declare last_error: string | null;
  /** Time of the next attempt. */
  declare next_attempt_at: Date;
  declare created_at: Date;
  declare completed_at: Date | null;
}
