import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { prepared, runStatement, type Statement } from '../../lib/database/preparedStatements.ts';
import { enqueueTasks } from '../../queues/enqueue.ts';

export interface NewTask {
  key: string;
  accountId: number | null;
  /** Default: now. */
  runAt?: Date;
}

const buildInsert = (condition: string) => `
   INSERT INTO tasks (kind, key, account_id, run_at, created_at)
   SELECT :kind, key, account_id, coalesce(run_at, :now), cast(:now AS timestamptz)
     FROM json_to_recordset(:tasks) AS t (key text, account_id bigint, run_at timestamptz)
    ORDER BY key
   ON CONFLICT (kind, key) DO UPDATE
      SET run_at = excluded.run_at, lease = NULL, attempts = 0, last_error = NULL${condition}`;

const SCHEDULE_TASKS = prepared('schedule_tasks', buildInsert(' WHERE tasks.run_at IS NULL'));
const RESCHEDULE_TASKS = prepared('reschedule_tasks', buildInsert(''));

/**
 * Writes tasks in the transaction of their cause; those that are due run once it has committed. A task that exists
 * stays as it is, unless it was given up: that one starts again. A run in progress may have read its rows before this
 * change, and completes the task: use {@link rescheduleTasks} for a key that is needed again.
 * @param kind name of their kind.
 */
export const scheduleTasks = (transaction: Transaction, kind: string, tasks: readonly NewTask[]): Promise<void> =>
  write(SCHEDULE_TASKS, transaction, kind, tasks);

/** Writes tasks like {@link scheduleTasks}, but replaces those that exist. A run in progress does not complete them. */
export const rescheduleTasks = (transaction: Transaction, kind: string, tasks: readonly NewTask[]): Promise<void> =>
  write(RESCHEDULE_TASKS, transaction, kind, tasks);

async function write(statement: Statement, transaction: Transaction, kind: string, tasks: readonly NewTask[]) {
  if (tasks.length === 0) return;
  const rows = tasks.map(({ key, accountId, runAt }) => ({ key, account_id: accountId, run_at: runAt }));
  await runStatement(statement, { kind, now: now(), tasks: JSON.stringify(rows) }, transaction);
  if (tasks.every(({ runAt }) => runAt !== undefined)) return;
  void transaction.executionPromise.then(
    () => enqueueTasks(kind),
    () => {},
  );
}
