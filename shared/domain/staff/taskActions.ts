import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { logger } from '../../lib/logger.ts';
import { enqueueTasks } from '../../queues/enqueue.ts';
import { ServiceError } from '../../spec/errors.ts';
import { AuditEntry } from '../../tables/AuditEntry.ts';
import { type Actor, recordAuditEntry } from '../audit/recordAuditEntry.ts';
import { describeKey, findTask, type ListedTask } from '../tasks/listTasks.ts';

/** Other tasks wait for a time that has a reason. One that a worker holds ends its run first. */
const IS_RUNNABLE = 'attempts > 0 AND lease IS NULL';

const MAKE_TASK_DUE = prepared(
  'make_task_due',
  `WITH held AS (SELECT id, run_at FROM tasks WHERE id = :id AND ${IS_RUNNABLE} FOR NO KEY UPDATE SKIP LOCKED)
   UPDATE tasks t SET run_at = :now FROM held WHERE t.id = held.id RETURNING held.run_at AS was_due_at`,
);

const MAKE_KIND_DUE = prepared(
  'make_kind_due',
  `WITH held AS (
     SELECT id FROM tasks WHERE kind = :kind AND ${IS_RUNNABLE} ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
   )
   UPDATE tasks t SET run_at = :now FROM held WHERE t.id = held.id RETURNING t.id`,
);

/** Finds a task for staff. @throws ServiceError not_found */
export async function findTaskForStaff(id: number): Promise<ListedTask> {
  const task = await findTask(id);
  if (task !== undefined) return task;
  throw new ServiceError('not_found', 'Not found. The task is done, or does not exist.');
}

/**
 * Runs a task that fails or was given up once more, with an audit entry. If it fails again, it is as it was.
 * @returns false if it is done, does not fail, or a worker runs it.
 */
export async function runTaskNow({ id, kind, key, account_id: accountId }: ListedTask, actor: Actor): Promise<boolean> {
  const at = now();
  const isDue = await AuditEntry.transaction(async (transaction) => {
    const [made] = await runStatement<{ was_due_at: Date | null }>(MAKE_TASK_DUE, { id, now: at }, transaction);
    if (made === undefined) return false;
    await recordAuditEntry(transaction, actor, {
      action: 'task.run',
      accountId,
      targetId: `${kind} ${describeKey({ kind, key })}`,
      before: { runAt: made.was_due_at ?? 'given up' },
      after: { runAt: at },
    });
    return true;
  });
  if (isDue) await enqueue(kind, 1);
  return isDue;
}

/**
 * Runs all tasks of a kind that fail or were given up once more, with one audit entry.
 * @returns how many these are, without those that a worker runs.
 */
export async function runTasksNow(kind: string, actor: Actor): Promise<number> {
  const count = await AuditEntry.transaction(async (transaction) => {
    const made = await runStatement<{ id: number }>(MAKE_KIND_DUE, { kind, now: now() }, transaction);
    if (made.length === 0) return 0;
    await recordAuditEntry(transaction, actor, {
      action: 'task.run_kind',
      accountId: null,
      targetId: kind,
      after: { tasks: made.length },
    });
    return made.length;
  });
  if (count > 0) await enqueue(kind, count);
  return count;
}

async function enqueue(kind: string, tasks: number): Promise<void> {
  logger.info({ kind, tasks }, 'tasks made due by staff');
  await enqueueTasks(kind);
}
