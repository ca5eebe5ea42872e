import { Model } from 'objection';

/** An adjustment of credits that a second member of staff approves or rejects. Without a decision it expires. */
export class StaffApproval extends Model {
  static override tableName = 'staff_approvals';
  static override idColumn = 'uuid';

  declare uuid: string;
  declare account_id: number;
  /** Credits to add; negative to remove. */
  declare credits: number;
  /** For the customer, in the ledger; may be empty. */
  declare note: string;
  declare reason: string;
  declare requested_by: number;
  declare requested_at: Date;
  /** Request id and address of the request, for the audit entry of the action. */
  declare request_id: string;
  declare ip_address: string;
  declare decided_by: number | null;
  declare decided_at: Date | null;
  declare outcome: 'approved' | 'rejected' | null;
}
