import pLimit from 'p-limit';
import { removeFiles } from '../gateways/media/collect.ts';
import { addMilliseconds, now } from '../lib/clock.ts';
import { prepared, run } from '../lib/db.ts';
import { logger } from '../lib/logger.ts';

/**
 * Files that nobody may see any more: of generations that were deleted, and what a failed one may have left. Whatever
 * takes a generation away writes down, in the same statement, that its files are to go; removing them is repeated
 * until it is done.
 */

const AT_ONCE = 200;
const SIDE_BY_SIDE = 8;
const RETRY_MS = 60_000;

const DUE = prepared(
  'media_removals_due',
  `SELECT media_token FROM media_removals WHERE due_at <= :now ORDER BY due_at LIMIT ${AT_ONCE}`,
);
const DONE = prepared('media_removed', 'DELETE FROM media_removals WHERE media_token = :token AND due_at <= :now');
const LATER = prepared('media_not_removed', 'UPDATE media_removals SET due_at = :due WHERE media_token = :token');

/** Removes the files whose time has come. One that cannot be removed now is tried again a minute later. */
export async function removeDueFiles(): Promise<void> {
  const slots = pLimit(SIDE_BY_SIDE);
  for (;;) {
    const at = now();
    const rows = await run<{ media_token: string }>(DUE, { now: at });
    await Promise.all(rows.map(({ media_token: token }) => slots(() => remove(token, at))));
    if (rows.length < AT_ONCE) return;
  }
}

async function remove(token: string, at: Date): Promise<void> {
  try {
    await removeFiles(token);
    await run(DONE, { token, now: at });
  } catch (error) {
    logger.warn({ error: (error as Error).message }, 'files of a generation not removed; will be tried again');
    await run(LATER, { token, due: addMilliseconds(at, RETRY_MS) });
  }
}

const LATE = prepared(
  'late_files',
  `INSERT INTO media_removals (media_token, due_at)
   SELECT media_token, :now FROM generations
    WHERE uuid = :uuid AND media_token IS NOT NULL AND (status = 'failed' OR (status = 'succeeded' AND deleted_at IS NOT NULL))
   ON CONFLICT (media_token) DO UPDATE SET due_at = greatest(media_removals.due_at, excluded.due_at)`,
);

/** For whoever has put files in their place and finds that the generation ended without them. */
export async function removeLateFiles(uuid: string): Promise<void> {
  await run(LATE, { uuid, now: now() });
}
