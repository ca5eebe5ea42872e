import { type Bindings, runStatement, type Statement } from './preparedStatements.ts';

/** Maximum number of rows that a statement changes at once, so that it does not hold many locks. */
export const STATEMENT_BATCH_SIZE = 1_000;

/**
 * Repeats a statement until it finds no full batch any more.
 * @param statement changes at most {@link STATEMENT_BATCH_SIZE} rows and returns one row for each.
 */
export async function runInBatches(statement: Statement, bindings: Bindings): Promise<void> {
  while ((await runStatement(statement, bindings)).length === STATEMENT_BATCH_SIZE);
}
