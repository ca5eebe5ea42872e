import { deleteMediaFiles } from '../../gateways/media/storeOutput.ts';
import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import type { GenerationKey } from '../../queues/catalog.ts';
import { createFileDeletion } from '../platform/fileDeletion.ts';

/**
 * Deletes the files of deleted generations, and files that a failed generation may have left. The statement that
 * deletes or fails a generation also schedules the deletion of its files, which is retried until it succeeds.
 */

/** Deletes the files that are due. */
export const deleteDueMedia = createFileDeletion(
  'media_deletions',
  { claim: 'claim_media_deletions', complete: 'complete_media_deletion', release: 'release_media_deletions' },
  deleteMediaFiles,
);

const SCHEDULE_ORPHANED_DELETION = prepared(
  'schedule_orphaned_media_deletion',
  `INSERT INTO media_deletions (media_token, next_attempt_at)
   SELECT media_token, :now FROM generations
    WHERE uuid = :uuid AND account_id = :account_id AND media_token IS NOT NULL AND (status = 'failed' OR (status = 'succeeded' AND deleted_at IS NOT NULL))
   ON CONFLICT (media_token) DO UPDATE SET next_attempt_at = excluded.next_attempt_at`,
);

/** Schedules the deletion of stored files whose generation has ended without them. */
export async function scheduleOrphanedMediaDeletion({ uuid, account_id }: GenerationKey): Promise<void> {
  await runStatement(SCHEDULE_ORPHANED_DELETION, { uuid, account_id, now: now() });
}
