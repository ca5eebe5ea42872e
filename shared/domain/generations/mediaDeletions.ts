import pLimit from 'p-limit';
import { deleteMediaFiles } from '../../gateways/media/storeOutput.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { logger } from '../../lib/logger.ts';
import type { GenerationKey } from '../../queues/catalog.ts';
import type { MediaDeletion } from '../../tables/MediaDeletion.ts';
import { MINUTE_MS } from '../../spec/durations.ts';

/**
 * Deletes the files of deleted generations, and files that a failed generation may have left. The statement that
 * deletes or fails a generation also schedules the deletion of its files, which is retried until it succeeds.
 */

const BATCH_SIZE = 100;
const CONCURRENCY = 8;
/** Longer than a batch takes, also while the store is slow to fail. */
const CLAIM_TIMEOUT_MS = 5 * MINUTE_MS;
const RETRY_DELAY_MS = MINUTE_MS;

const CLAIM_DELETIONS = prepared(
  'claim_media_deletions',
  `WITH due AS (
     SELECT media_token FROM media_deletions WHERE next_attempt_at <= :now
      ORDER BY next_attempt_at LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED
   )
   UPDATE media_deletions r SET next_attempt_at = :claim FROM due WHERE r.media_token = due.media_token
   RETURNING r.media_token`,
);
// A deletion that was scheduled again meanwhile has another time, and stays.
const COMPLETE_DELETION = prepared(
  'complete_media_deletion',
  'DELETE FROM media_deletions WHERE media_token = :token AND next_attempt_at = :claim',
);
const RELEASE_DELETIONS = prepared(
  'release_media_deletions',
  'UPDATE media_deletions SET next_attempt_at = :due WHERE media_token = ANY (:tokens) AND next_attempt_at = :claim',
);

/** Deletes the files that are due. After a failure the rest of the batch is retried a minute later. */
export async function deleteDueMedia(): Promise<void> {
  for (;;) {
    const at = now();
    const claim = addMilliseconds(at, CLAIM_TIMEOUT_MS);
    const rows = await runStatement<Pick<MediaDeletion, 'media_token'>>(CLAIM_DELETIONS, { now: at, claim });
    const failed = await deleteMediaBatch(
      rows.map((row) => row.media_token),
      claim,
    );
    if (failed.length > 0)
      await runStatement(RELEASE_DELETIONS, { tokens: failed, claim, due: addMilliseconds(now(), RETRY_DELAY_MS) });
    if (failed.length > 0 || rows.length < BATCH_SIZE) return;
  }
}

/** @returns the tokens whose files were not deleted. The first failure skips the rest of the batch. */
async function deleteMediaBatch(tokens: string[], claim: Date): Promise<string[]> {
  const slots = pLimit(CONCURRENCY);
  const failed: string[] = [];
  await Promise.all(
    tokens.map((token) =>
      slots(async () => {
        try {
          if (failed.length > 0) throw new Error('skipped after a failure');
          await deleteMediaFiles(token);
          await runStatement(COMPLETE_DELETION, { token, claim });
        } catch (err) {
          if (failed.length === 0) logger.warn({ err }, 'files not deleted; will retry');
          failed.push(token);
        }
      }),
    ),
  );
  return failed;
}

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
