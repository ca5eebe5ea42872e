import { Model } from 'objection';

/** An invoice whose payments must be refunded, because the account does not use what it billed. */
export class OwedRefund extends Model {
  static override tableName = 'owed_refunds';
  static override idColumn = 'invoice_id';

  declare invoice_id: string;
  declare subscription_id: number;
  declare account_id: number;
  /** `rejected`: the payment processor rejected the refund, or it failed. Staff decide. */
  declare status: 'owed' | 'refunded' | 'rejected';
  /** Why it was rejected, or a note about the refund. */
  declare last_error: string | null;
  declare created_at: Date;
  declare completed_at: Date | null;
}
