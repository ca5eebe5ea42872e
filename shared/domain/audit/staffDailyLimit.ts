import type { Transaction } from 'objection';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { DAY_MS } from '../../spec/durations.ts';
import { ServiceError } from '../../spec/errors.ts';
import { AUDIT_ACTIONS, type AuditAction, type AuditedAmount, type StaffRole } from '../../spec/staff.ts';
import { listAccountsWithSameOwner } from './staffAccounts.ts';

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
    WHERE actor_account_id = ANY (cast(:actorIds AS bigint[])) AND created_at > :since AND action = ANY (cast(:actions AS text[]))`,
);

/**
 * Bounds what one member gives back within 24 hours. Actions of a member wait for each other, so that the sum holds.
 * @param record its audit entry, which follows in the same transaction.
 * @throws ServiceError admin_required
 */
export async function assertWithinDailyLimit(
  transaction: Transaction,
  actor: { accountId: number; role: StaffRole },
  record: { action: AuditAction; after?: Record<string, unknown> },
): Promise<void> {
  const kind = getAmount(record.action);
  const amount = kind === undefined ? 0 : Number(record.after?.[kind.field]);
  if (kind === undefined || amount <= 0) return;
  const limit = getDailyLimit(kind.setting, actor.role);
  if (limit === undefined) return;
  const actorIds = await listAccountsWithSameOwner(transaction, actor.accountId);
  const name = `staff amounts ${Math.min(...actorIds)}`;
  await transaction.raw('SELECT pg_advisory_xact_lock(hashtextextended(?, 0))', [name]);
  const actions = (Object.keys(AUDIT_ACTIONS) as AuditAction[]).filter((action) => getAmount(action) === kind);
  const [row] = await runStatement<{ amount: string }>(
    SUM_AMOUNTS,
    { field: kind.field, actorIds, since: addMilliseconds(now(), -DAY_MS), actions },
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
