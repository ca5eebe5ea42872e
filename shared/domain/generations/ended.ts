import { prepared, run } from '../../lib/db.ts';

const ENDED = prepared(
  'ended_generations',
  `SELECT uuid FROM generations WHERE uuid = ANY (cast(:uuids AS uuid[])) AND status <> 'queued'`,
);

/** Which of these generations have ended, deleted ones among them. */
export async function endedAmong(uuids: readonly string[]): Promise<string[]> {
  if (uuids.length === 0) return [];
  const rows = await run<{ uuid: string }>(ENDED, { uuids });
  return rows.map(({ uuid }) => uuid);
}
