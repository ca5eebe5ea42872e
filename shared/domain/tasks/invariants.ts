import { CLOCK_SKEW_INTERVAL, type Invariant } from '../invariant.ts';
import type { TaskKind } from './taskKind.ts';

/** Builds the invariants of tasks: rows that wait for a kind have a task of it. */
export function buildTaskInvariants(kinds: readonly TaskKind[]): Invariant[] {
  const missing = kinds
    .filter(({ waiting }) => waiting !== undefined)
    .map(
      ({ name, waiting }) =>
        `SELECT account_id, '${name} ' || key AS subject
           FROM (${waiting}) waiting
          WHERE NOT EXISTS (SELECT FROM tasks t WHERE t.kind = '${name}' AND t.key = waiting.key)`,
    );
  return [
    {
      name: 'what-waits-has-a-task',
      statement: 'Every row that waits for work has the task that does it.',
      checkedWhen: 'always',
      query: `SELECT account_id, subject, 'no task' AS detail FROM (${missing.join(' UNION ALL ')}) missing`,
    },
    {
      name: 'due-tasks-are-run',
      statement: 'No task is due.',
      checkedWhen: 'when drained',
      query: `
        SELECT account_id, kind || ' ' || key AS subject,
               format('due %s, %s failed runs, %s', run_at, attempts, coalesce(last_error, 'no error')) AS detail
          FROM tasks WHERE run_at < $1::timestamptz - ${CLOCK_SKEW_INTERVAL}`,
    },
  ];
}
