import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { now } from '../../lib/clock.ts';
import { isStaffEmail } from '../../lib/staffEmails.ts';
import { ServiceError } from '../../spec/errors.ts';
import { AUDIT_ACTIONS, type AuditAction, type StaffRole } from '../../spec/staff.ts';
import { Account } from '../../tables/Account.ts';
import { AuditEntry } from '../../tables/AuditEntry.ts';
import { hasJoined } from './staffAccounts.ts';
import { assertWithinDailyLimit } from './staffDailyLimit.ts';

/** Author of a staff action, with the reason: a staff account in the console, or the system user of a command. */
export type Actor = StaffActor | { kind: 'system'; systemUser: string; reason: string };
export interface StaffActor {
  kind: 'staff';
  /** May be empty where the action explains itself. */
  reason: string;
  accountId: number;
  role: StaffRole;
  requestId: string;
  ipAddress: string;
}

/** An audit entry without its actor. Contains no secrets, and no personal data of customers. */
export interface AuditRecord {
  action: AuditAction;
  /** The affected account; null if the action affects no single one. */
  accountId: number | null;
  /** UUID of the target, the name of a queue or kind of tasks, or the kind and key of a task. */
  targetId: string;
  before?: Record<string, unknown>;
  after?: Record<string, unknown>;
}

/**
 * Writes the audit entry of a staff action, in the transaction of the action: no entry, no action.
 * @throws ServiceError admin_required for an action on an account that the member of staff is a member of, or on that
 *   of other staff, or one that gives back more than the role may in a day.
 */
export async function recordAuditEntry(transaction: Transaction, actor: Actor, record: AuditRecord): Promise<void> {
  const { action, accountId, targetId, before = null, after = null } = record;
  const isStaff = actor.kind === 'staff';
  if (isStaff && accountId !== null) await assertMayActOn(transaction, actor, accountId);
  if (isStaff) await assertWithinDailyLimit(transaction, actor, record);
  await AuditEntry.query(transaction).insert({
    uuid: uuidv7(),
    created_at: now(),
    actor_account_id: isStaff ? actor.accountId : null,
    command_user: isStaff ? null : actor.systemUser,
    role: isStaff ? actor.role : 'system',
    action,
    account_id: accountId,
    target_type: AUDIT_ACTIONS[action].target,
    target_id: targetId,
    reason: actor.reason,
    before,
    after,
    request_id: isStaff ? actor.requestId : null,
    ip_address: isStaff ? actor.ipAddress : null,
  });
}

/**
 * Only the role `admin` acts on accounts of staff, and on accounts that it is a member of: others would credit
 * themselves, or end the access of an admin.
 */
export async function mayActOn(
  transaction: Transaction,
  actor: Pick<StaffActor, 'accountId' | 'role'>,
  accountId: number,
): Promise<boolean> {
  if (actor.role === 'admin') return true;
  const { email } = await Account.query(transaction).findById(accountId).select('email').throwIfNotFound();
  return !isStaffEmail(email) && !(await hasJoined(transaction, actor.accountId, accountId));
}

/** @throws ServiceError admin_required */
async function assertMayActOn(transaction: Transaction, actor: StaffActor, accountId: number): Promise<void> {
  if (await mayActOn(transaction, actor, accountId)) return;
  const detail =
    'An action on an account that you are a member of, or on that of another member of staff, requires the role admin.';
  throw new ServiceError('admin_required', detail);
}
