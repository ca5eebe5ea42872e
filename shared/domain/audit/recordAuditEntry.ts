import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { isStaffEmail } from '../../lib/staffEmails.ts';
import { DAY_MS } from '../../spec/durations.ts';
import { ServiceError } from '../../spec/errors.ts';
import { AUDIT_ACTIONS, type AuditAction, type AuditedAmount, type StaffRole } from '../../spec/staff.ts';
import { Account } from '../../tables/Account.ts';
import { AuditEntry } from '../../tables/AuditEntry.ts';

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
  /** UUID of the target, or the name of a queue. */
  targetId: string;
  before?: Record<string, unknown>;
  after?: Record<string, unknown>;
}

/**
 * Writes the audit entry of a staff action, in the transaction of the action: no entry, no action.
 * @throws ServiceError admin_required for an action on the member's own account, or on that of another member, or one
 *   that gives back more than the role may in a day.
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

/** Only the role `admin` acts on accounts of staff: others would credit themselves, or end the access of an admin. */
export async function mayActOn(
  transaction: Transaction,
  actor: Pick<StaffActor, 'accountId' | 'role'>,
  accountId: number,
): Promise<boolean> {
  if (actor.role === 'admin') return true;
  const { email } = await Account.query(transaction).findById(accountId).select('email').throwIfNotFound();
  return accountId !== actor.accountId && !isStaffEmail(email);
}

/** @throws ServiceError admin_required */
async function assertMayActOn(transaction: Transaction, actor: StaffActor, accountId: number): Promise<void> {
  if (await mayActOn(transaction, actor, accountId)) return;
  const detail = 'An action on your own account, or on that of another member of staff, requires the role admin.';
  throw new ServiceError('admin_required', detail);
}

/** Returns what an action gives back; undefined for one that gives nothing. */
function getAmount(action: AuditAction): AuditedAmount | undefined {
  const definition: { target: string; amount?: AuditedAmount } = AUDIT_ACTIONS[action];
  return definition.amount;
}

/** Adds up what a member gave back. Removed credits do not make room for others. */
const SUM_AMOUNTS = prepared(
  'sum_staff_amounts',
  `SELECT coalesce(sum(greatest(0, cast(after ->> :field AS bigint))), 0) AS amount
     FROM audit_entries
    WHERE actor_account_id = :actorId AND created_at > :since AND action = ANY (cast(:actions AS text[]))`,
);

/**
 * Bounds what one member gives back within 24 hours. Actions of a member wait for each other, so that the sum holds.
 * @param record its audit entry, which follows in the same transaction.
 * @throws ServiceError admin_required
 */
async function assertWithinDailyLimit(
  transaction: Transaction,
  actor: { accountId: number; role: StaffRole },
  record: { action: AuditAction; after?: Record<string, unknown> },
): Promise<void> {
  const kind = getAmount(record.action);
  const amount = kind === undefined ? 0 : Number(record.after?.[kind.field]);
  if (kind === undefined || amount <= 0) return;
  const limit = getDailyLimit(kind.setting, actor.role);
  if (limit === undefined) return;
  await transaction.raw('SELECT pg_advisory_xact_lock(hashtextextended(?, 0))', [`staff amounts ${actor.accountId}`]);
  const actions = (Object.keys(AUDIT_ACTIONS) as AuditAction[]).filter((action) => getAmount(action) === kind);
  const [row] = await runStatement<{ amount: string }>(
    SUM_AMOUNTS,
    { field: kind.field, actorId: actor.accountId, since: addMilliseconds(now(), -DAY_MS), actions },
    transaction,
  );
  const left = limit - Number(row?.amount ?? 0);
  if (amount <= left) return;
  const detail = `The role ${actor.role} may give back ${limit} ${kind.unit} within 24 hours, and ${Math.max(0, left)} are left. Ask a member with the role admin.`;
  throw new ServiceError('admin_required', detail);
}

/** Returns the limit of a role; undefined if the setting does not list it. */
function getDailyLimit(setting: AuditedAmount['setting'], role: StaffRole): number | undefined {
  const entry = config[setting].split(',').find((text) => text.trim().startsWith(`${role}:`));
  return entry === undefined ? undefined : Number(entry.split(':')[1]);
}
