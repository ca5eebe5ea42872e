import { RETENTION } from '../../shared/domain/features.ts';
import { pruneRows } from '../../shared/domain/retention.ts';

/** Deletes or empties the rows of a table whose retention is over, as the job `rows.prune` does for all tables. */
export function pruneTable(table: string): Promise<void> {
  return pruneRows(RETENTION.filter((entry) => typeof entry !== 'function' && entry.table === table));
}
