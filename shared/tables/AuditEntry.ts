import { Model } from 'objection';
import type { AuditAction, StaffRole } from '../spec/staff.ts';

/** One action of staff. Rows are never changed. */
export class AuditEntry extends Model {
  static override tableName = 'audit_entries';
  static override idColumn = 'uuid';
  static override jsonAttributes = ['before', 'after'];

  declare uuid: string;
  declare created_at: Date;
  /** Account of the staff member; null for a command. */
  declare actor_account_id: number | null;
  /** System user who ran a command; null for the staff console. */
  declare command_user: string | null;
  declare role: StaffRole | 'system';
  declare action: AuditAction;
  /** The affected account; null if the action affects no single one. */
  declare account_id: number | null;
  declare target_type: string;
  declare target_id: string;
  declare reason: string;
  declare before: Record<string, unknown> | null;
  declare after: Record<string, unknown> | null;
  declare request_id: string | null;
  declare ip_address: string | null;
}
