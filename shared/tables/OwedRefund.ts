import { Model } from 'objection';

/** A payment to return to the customer: of an invoice that the account does not use, or of a top-up. */
export class OwedRefund extends Model {
  static override tableName = 'owed_refunds';
  static override idColumn = 'key';

  /** The id of the invoice at the processor, or the uuid of the top-up. */
  declare readonly key: string;
  /** The same for staff, such as `invoice in_123`. */
  declare readonly payment: string;
  declare invoice_id: string | null;
  declare topup_uuid: string | null;
  declare account_id: number;
  /** `staff`: requested by staff. `erased`: paid for an account that is erased. `unused`: it bought nothing. */
  declare cause: 'staff' | 'erased' | 'unused';
  /** `rejected`: the payment processor rejected the refund, or it failed. Staff decide, and then close it. */
  declare status: 'owed' | 'refunded' | 'rejected' | 'closed';
  /** Why it was rejected. */
  declare last_error: string | null;
  declare created_at: Date;
  declare completed_at: Date | null;
}
