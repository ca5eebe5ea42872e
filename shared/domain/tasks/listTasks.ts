import { MINUTE_MS } from '../../spec/durations.ts';
import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import type { TaskKind } from './taskKind.ts';

/** The tasks of a kind. */
export interface TaskCount {
  kind: string;
  /** Number of tasks that could run now, and when the first of them became due. */
  due: number;
  oldest: Date | null;
  /** Number of tasks whose last run has failed; they will be repeated. */
  failing: number;
  given_up: number;
}

/** Reads indexes only: most tasks are not due for a long time. */
const COUNT_TASKS = prepared(
  'count_tasks',
  `SELECT kind, due.count AS due, due.oldest, troubled.failing, troubled.given_up
     FROM unnest(cast(:kinds AS text[])) AS k (kind),
          LATERAL (SELECT cast(count(*) AS int) AS count, min(run_at) AS oldest
                     FROM tasks t WHERE t.kind = k.kind AND t.run_at <= :now) due,
          LATERAL (SELECT cast(count(run_at) AS int) AS failing, cast(count(*) - count(run_at) AS int) AS given_up
                     FROM tasks t WHERE t.kind = k.kind AND t.attempts > 0) troubled`,
);

/** Workers begin within seconds with a task that is due. */
const START_MS = MINUTE_MS;

/** Returns whether tasks, of which the first became due then, should have run. */
export const isOverdue = (oldest: Date | null): boolean =>
  oldest !== null && now().getTime() - oldest.getTime() > START_MS;

/** Counts the tasks of each kind, also of those that have none. */
export const countTasks = (kinds: readonly TaskKind[]): Promise<TaskCount[]> =>
  runStatement<TaskCount>(COUNT_TASKS, { kinds: kinds.map(({ name }) => name), now: now() });

const COUNT_RUNNING = prepared(
  'count_running_tasks',
  `SELECT kind, cast(count(*) AS int) AS running FROM tasks WHERE lease IS NOT NULL AND run_at > :now GROUP BY kind`,
);

/** Counts the tasks that workers run now, by kind. Reads the whole table. */
export async function countRunningTasks(): Promise<ReadonlyMap<string, number>> {
  const rows = await runStatement<{ kind: string; running: number }>(COUNT_RUNNING, { now: now() });
  return new Map(rows.map(({ kind, running }) => [kind, running]));
}

/** A task with its account, if it is of one. */
export interface ListedTask {
  id: number;
  kind: string;
  key: string;
  account_id: number | null;
  attempts: number;
  last_error: string | null;
  /** Null if it was given up; while it runs, when its lease ends. */
  run_at: Date | null;
  is_running: boolean;
  created_at: Date;
  account_uuid: string | null;
  account_email: string | null;
}

const buildList = (condition: string) => `
   SELECT t.id, t.kind, t.key, t.account_id, t.attempts, t.last_error, t.run_at, t.created_at,
          t.lease IS NOT NULL AND t.run_at > :now AS is_running, a.uuid AS account_uuid, a.email AS account_email
     FROM tasks t LEFT JOIN accounts a ON a.id = t.account_id
    WHERE ${condition}
    ORDER BY t.run_at NULLS FIRST, t.id LIMIT :limit`;

const LIST_TROUBLED = prepared(
  'list_troubled_tasks',
  buildList('t.attempts > 0 AND t.kind = ANY (cast(:kinds AS text[]))'),
);
const LIST_OF_ACCOUNT = prepared(
  'list_account_tasks',
  buildList('t.account_id = :accountId OR (t.kind = :kind AND t.key = ANY (cast(:keys AS text[])))'),
);
const FIND_TASK = prepared('find_task', buildList('t.id = :id'));
const FIND_TASK_BY_KEY = prepared('find_task_by_key', buildList('t.kind = :kind AND t.key = :key'));

/** Lists tasks of kinds that were given up, and then those whose last run has failed. */
export const listTroubledTasks = (kinds: readonly TaskKind[], limit: number): Promise<ListedTask[]> =>
  runStatement<ListedTask>(LIST_TROUBLED, { kinds: kinds.map(({ name }) => name), limit, now: now() });

/** Lists the tasks of an account, and those of keys of a kind that has no accounts. */
export const listAccountTasks = (
  accountId: number,
  { name: kind }: TaskKind,
  keys: string[],
  limit: number,
): Promise<ListedTask[]> => runStatement<ListedTask>(LIST_OF_ACCOUNT, { accountId, kind, keys, limit, now: now() });

/** Finds a task that is not done. */
export async function findTask(id: number): Promise<ListedTask | undefined> {
  const [task] = await runStatement<ListedTask>(FIND_TASK, { id, limit: 1, now: now() });
  return task;
}

/** Finds the task of a key that is not done. */
export async function findTaskByKey({ name: kind }: TaskKind, key: string): Promise<ListedTask | undefined> {
  const [task] = await runStatement<ListedTask>(FIND_TASK_BY_KEY, { kind, key, limit: 1, now: now() });
  return task;
}

/**
 * Returns the key of a task for staff. That of a deletion of files is a part of their address, which gives access to
 * them.
 */
export const describeKey = ({ kind, key }: Pick<ListedTask, 'kind' | 'key'>): string =>
  kind.endsWith('.deleteFiles') ? `${key.slice(0, 8)}…` : key;
