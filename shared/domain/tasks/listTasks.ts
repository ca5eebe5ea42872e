import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';

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

const COUNT_TASKS = prepared(
  'count_tasks',
  `SELECT kind, cast(count(*) FILTER (WHERE run_at <= :now) AS int) AS due, min(run_at) FILTER (WHERE run_at <= :now) AS oldest,
          cast(count(*) FILTER (WHERE attempts > 0 AND run_at IS NOT NULL) AS int) AS failing,
          cast(count(*) FILTER (WHERE run_at IS NULL) AS int) AS given_up
     FROM tasks GROUP BY kind ORDER BY kind`,
);

/** Counts the tasks of each kind that has any. */
export const countTasks = (): Promise<TaskCount[]> => runStatement<TaskCount>(COUNT_TASKS, { now: now() });

/** A task with its account, if it is of one. */
export interface ListedTask {
  id: number;
  kind: string;
  key: string;
  attempts: number;
  last_error: string | null;
  /** Null if it was given up. */
  run_at: Date | null;
  created_at: Date;
  account_uuid: string | null;
  account_email: string | null;
}

const buildList = (condition: string) => `
   SELECT t.id, t.kind, t.key, t.attempts, t.last_error, t.run_at, t.created_at, a.uuid AS account_uuid,
          a.email AS account_email
     FROM tasks t LEFT JOIN accounts a ON a.id = t.account_id
    WHERE ${condition}
    ORDER BY t.run_at NULLS FIRST, t.id LIMIT :limit`;

const LIST_TROUBLED = prepared('list_troubled_tasks', buildList('t.attempts > 0 OR t.run_at IS NULL'));
const LIST_OF_ACCOUNT = prepared('list_account_tasks', buildList('t.account_id = :accountId'));

/** Lists tasks that were given up, and then those whose last run has failed. */
export const listTroubledTasks = (limit: number): Promise<ListedTask[]> =>
  runStatement<ListedTask>(LIST_TROUBLED, { limit });

/** Lists the tasks of an account. */
export const listAccountTasks = (accountId: number, limit: number): Promise<ListedTask[]> =>
  runStatement<ListedTask>(LIST_OF_ACCOUNT, { accountId, limit });
