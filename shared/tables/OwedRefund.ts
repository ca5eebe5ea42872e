import { Model } from 'objection';

/** An invoice whose payments are to be refunded, as the account has no use for what it billed. */
export class OwedRefund extends Model {
  static override tableName = 'owed_refunds';
  static override idColumn = 'invoice_id';

  declare invoice_id: string;
  declare subscription_id: number;
  declare account_id: number;
  /** `refused`: the processor refunds nothing any more, or the refund failed; staff decide. */
  declare status: 'owed' | 'refunded' | 'refused';
  declare attempts: number;
  declare problem: string | null;
  /** When the next attempt is made. */
  declare next_attempt_at: Date;
  declare created_at: Date;
  declare completed_at: Date | null;
}
