import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';

const NEXT_SYNC_VERSION = prepared('sync_version', `SELECT nextval('sync_versions') AS version`);

/**
 * Returns the version of a snapshot, taken before it is read at the processor. Rows keep the version that was applied
 * last and ignore older ones: a snapshot with a later version was read later, and every change is followed by a read.
 */
export async function nextSyncVersion(): Promise<number> {
  const [row] = await runStatement<{ version: number }>(NEXT_SYNC_VERSION, {});
  return (row as { version: number }).version;
}
