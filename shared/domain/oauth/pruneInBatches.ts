import { type Bindings, runStatement, type Statement } from '../../lib/db.ts';

const PRUNE_BATCH_SIZE = 1_000;

/**
 * Repeats a DELETE until it finds no full batch any more, so that no single statement holds many locks.
 * @param statement deletes at most `:batchSize` rows and returns one row for each.
 */
export async function pruneInBatches(statement: Statement, bindings: Bindings): Promise<void> {
  let deleted: number;
  do {
    deleted = (await runStatement(statement, { ...bindings, batchSize: PRUNE_BATCH_SIZE })).length;
  } while (deleted === PRUNE_BATCH_SIZE);
}
