import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { now } from '../../lib/clock.ts';
import type { AuditAction, StaffRole } from '../../spec/staff.ts';
import { AuditEntry } from '../../tables/AuditEntry.ts';

/** The person who performs a staff action: a staff account in the console, or the system user of a command. */
export type Actor =
  | { kind: 'staff'; accountId: number; role: StaffRole; requestId: string; ipAddress: string }
  | { kind: 'system'; systemUser: string };

/** Content of an audit entry besides its actor. No secrets, and no personal data of customers. */
export interface AuditRecord {
  action: AuditAction;
  /** The affected account; null if the action affects no single one. */
  accountId: number | null;
  targetType: 'account' | 'generation' | 'topup' | 'key' | 'queue';
  /** UUID of the target, or the name of a queue. */
  targetId: string;
  /** Why; may be empty where the action explains itself. */
  reason: string;
  before?: Record<string, unknown>;
  after?: Record<string, unknown>;
}

/** Writes the audit entry of a staff action, in the transaction of the action. */
export async function recordAuditEntry(transaction: Transaction, actor: Actor, record: AuditRecord): Promise<void> {
  const { action, accountId, targetType, targetId, reason, before = null, after = null } = record;
  const isStaff = actor.kind === 'staff';
  await AuditEntry.query(transaction).insert({
    uuid: uuidv7(),
    created_at: now(),
    actor_account_id: isStaff ? actor.accountId : null,
    command_user: isStaff ? null : actor.systemUser,
    role: isStaff ? actor.role : 'system',
    action,
    account_id: accountId,
    target_type: targetType,
    target_id: targetId,
    reason,
    before,
    after,
    request_id: isStaff ? actor.requestId : null,
    ip_address: isStaff ? actor.ipAddress : null,
  });
}
