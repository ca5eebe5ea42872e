import { addMilliseconds, now } from '../lib/clock.ts';
import { prepared, type Statement } from '../lib/database/preparedStatements.ts';
import { runInBatches, STATEMENT_BATCH_SIZE } from '../lib/database/runInBatches.ts';
import { runSteps } from '../lib/runSteps.ts';

/** Rows that are deleted, or emptied, some time after a moment that they contain. */
export interface Retention {
  /** Name in logs and traces. Default: the table. */
  name?: string;
  table: string;
  /** Columns of the primary key. */
  key: string;
  /** The moment: a column that an index finds, as it is or among the rows of `where`. Rows without one are kept. */
  since: string;
  afterMs: number;
  /** Condition, with the parameters `:now` and `:before`, the latest moment. Checked again once the row is locked. */
  where?: string;
  /** Assignments that empty a row, so that `where` does not apply any more. Without them it is deleted. */
  set?: string;
  /** Statement that deletes what refers to the deleted rows, which it finds in `changed`. */
  also?: string;
}

/** Builds the statement that deletes or empties a batch of rows. It skips rows that another transaction holds. */
export function buildPruneStatement({ name, table, key, since, where, set, also }: Retention): Statement {
  const isSame = key.split(', ').map((column) => `r.${column} = old.${column}`);
  const change = set === undefined ? `DELETE FROM ${table} r USING old` : `UPDATE ${table} r SET ${set} FROM old`;
  return prepared(
    `prune_${name ?? table}`,
    `WITH old AS MATERIALIZED (
       SELECT ${key} FROM ${table}
        WHERE ${since} <= :before${where === undefined ? '' : ` AND ${where}`}
        ORDER BY ${since} LIMIT ${STATEMENT_BATCH_SIZE} FOR ${set === undefined ? 'UPDATE' : 'NO KEY UPDATE'} SKIP LOCKED
     ), changed AS (
       ${change} WHERE ${isSame.join(' AND ')} RETURNING r.*
     )${also === undefined ? '' : `, also AS (${also})`}
     SELECT FROM changed`,
  );
}

/** Applies retention periods, and runs the functions of what is not a change of rows. One that fails stops no other. */
export async function pruneRows(entries: readonly (Retention | (() => Promise<void>))[]): Promise<void> {
  const steps = entries.map((entry) => {
    if (typeof entry === 'function') return entry;
    const statement = buildPruneStatement(entry);
    const prune = async () => {
      const at = now();
      await runInBatches(statement, { now: at, before: addMilliseconds(at, -entry.afterMs) });
    };
    // The name that logs show.
    return Object.defineProperty(prune, 'name', { value: statement.name });
  });
  await runSteps(steps);
}
