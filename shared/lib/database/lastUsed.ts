import { createBatcher } from '../batcher.ts';
import { addMilliseconds, now } from '../clock.ts';
import { prepared, runStatement } from './preparedStatements.ts';

interface LastUsedOptions {
  /** Name of the statement. */
  name: string;
  table: string;
  /** Column that identifies a row, and its type. */
  key: string;
  type: 'bytea' | 'uuid';
  /** Time in which a row is written at most once, by all processes together. */
  intervalMs: number;
}

/** Creates the function that records in `last_used_at` that a row was used. Rows that are locked are left out. */
export function createLastUsedRecorder(options: LastUsedOptions) {
  const { name, table, key, type, intervalMs } = options;
  const record = prepared(
    name,
    `UPDATE ${table} SET last_used_at = :now
      WHERE ${key} IN (
        SELECT ${key} FROM ${table}
         WHERE ${key} = ANY (cast(:keys AS ${type}[])) AND (last_used_at IS NULL OR last_used_at <= :before)
         ORDER BY ${key} FOR NO KEY UPDATE SKIP LOCKED)`,
  );
  return createBatcher<Buffer | string, void>({
    maxItems: 64,
    maxInFlight: 1,
    run: async (keys) => {
      const at = now();
      await runStatement(record, { keys, now: at, before: addMilliseconds(at, -intervalMs) });
      return [];
    },
  });
}
