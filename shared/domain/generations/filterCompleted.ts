import { prepared, runStatement } from '../../lib/db.ts';

const FILTER_COMPLETED = prepared(
  'filter_completed_generations',
  `SELECT uuid FROM generations WHERE uuid = ANY (cast(:uuids AS uuid[])) AND status <> 'queued'`,
);

/** Which of these generations have ended, deleted ones among them. */
export async function filterCompleted(uuids: readonly string[]): Promise<string[]> {
  if (uuids.length === 0) return [];
  const rows = await runStatement<{ uuid: string }>(FILTER_COMPLETED, { uuids });
  return rows.map(({ uuid }) => uuid);
}
