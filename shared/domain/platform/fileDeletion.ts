import pLimit from 'p-limit';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { logger } from '../../lib/logger.ts';
import { MINUTE_MS } from '../../spec/durations.ts';
import type { MediaDeletion } from '../../tables/MediaDeletion.ts';

const BATCH_SIZE = 100;
const CONCURRENCY = 8;
/** Longer than a batch takes, also while the store is slow to fail. */
const CLAIM_TIMEOUT_MS = 5 * MINUTE_MS;
const RETRY_DELAY_MS = MINUTE_MS;

/** Names of the prepared statements. */
interface StatementNames {
  claim: string;
  complete: string;
  release: string;
}

/**
 * Creates a function that deletes the files that are due. Their rows are claimed, and deleted with them; after a failure
 * the rest of the batch is retried a minute later.
 * @param table table of the deletions, as `media_deletions`.
 */
export function createFileDeletion(
  table: 'media_deletions' | 'upload_deletions',
  names: StatementNames,
  deleteFiles: (mediaToken: string) => Promise<void>,
): () => Promise<void> {
  const claimDeletions = prepared(
    names.claim,
    `WITH due AS (
     SELECT media_token FROM ${table} WHERE next_attempt_at <= :now
      ORDER BY next_attempt_at LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED
   )
   UPDATE ${table} r SET next_attempt_at = :claim FROM due WHERE r.media_token = due.media_token
   RETURNING r.media_token`,
  );
  // A deletion that was scheduled again meanwhile has another time, and stays.
  const completeDeletion = prepared(
    names.complete,
    `DELETE FROM ${table} WHERE media_token = :token AND next_attempt_at = :claim`,
  );
  const releaseDeletions = prepared(
    names.release,
    `UPDATE ${table} SET next_attempt_at = :due WHERE media_token = ANY (:tokens) AND next_attempt_at = :claim`,
  );

  /** @returns the tokens whose files were not deleted. The first failure skips the rest of the batch. */
  async function deleteBatch(tokens: string[], claim: Date): Promise<string[]> {
    const slots = pLimit(CONCURRENCY);
    const failed: string[] = [];
    await Promise.all(
      tokens.map((token) =>
        slots(async () => {
          try {
            if (failed.length > 0) throw new Error('skipped after a failure');
            await deleteFiles(token);
            await runStatement(completeDeletion, { token, claim });
          } catch (err) {
            if (failed.length === 0) logger.warn({ err }, 'files not deleted; will retry');
            failed.push(token);
          }
        }),
      ),
    );
    return failed;
  }

  return async () => {
    for (;;) {
      const at = now();
      const claim = addMilliseconds(at, CLAIM_TIMEOUT_MS);
      const rows = await runStatement<Pick<MediaDeletion, 'media_token'>>(claimDeletions, { now: at, claim });
      const failed = await deleteBatch(
        rows.map((row) => row.media_token),
        claim,
      );
      if (failed.length > 0)
        await runStatement(releaseDeletions, { tokens: failed, claim, due: addMilliseconds(now(), RETRY_DELAY_MS) });
      if (failed.length > 0 || rows.length < BATCH_SIZE) return;
    }
  };
}
