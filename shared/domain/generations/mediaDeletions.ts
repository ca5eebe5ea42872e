import { deleteMediaFiles } from '../../gateways/media/storeOutput.ts';
import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import type { GenerationKey } from '../../queues/catalog.ts';
import { HOUR_MS } from '../../spec/durations.ts';
import type { TaskKind } from '../tasks/taskKind.ts';

/**
 * Deletes all files of a generation, whose `media_token` is the key. The statement that deletes or fails a generation
 * schedules it: a failed run may have left files.
 */
export const DELETE_MEDIA: TaskKind = {
  name: 'generation.deleteFiles',
  backoff: { minMs: 5_000, maxMs: HOUR_MS },
  concurrency: 8,
  run: async ([{ key }]) => {
    await deleteMediaFiles(key);
    return undefined;
  },
};

const SCHEDULE_ORPHANED_DELETION = prepared(
  'schedule_orphaned_media_deletion',
  `INSERT INTO tasks (kind, key, account_id, run_at, created_at)
   SELECT '${DELETE_MEDIA.name}', media_token, account_id, cast(:now AS timestamptz), cast(:now AS timestamptz)
     FROM generations
    WHERE uuid = :uuid AND account_id = :account_id AND media_token IS NOT NULL
      AND (status = 'failed' OR (status = 'succeeded' AND deleted_at IS NOT NULL))
   ON CONFLICT (kind, key) DO UPDATE SET run_at = excluded.run_at, lease = NULL`,
);

/** Schedules the deletion of stored files whose generation has ended without them. */
export async function scheduleOrphanedMediaDeletion({ uuid, account_id }: GenerationKey): Promise<void> {
  await runStatement(SCHEDULE_ORPHANED_DELETION, { uuid, account_id, now: now() });
}
