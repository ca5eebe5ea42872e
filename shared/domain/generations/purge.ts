import { now } from '../../lib/clock.ts';
import { prepared } from '../../lib/database/preparedStatements.ts';
import { runInBatches, STATEMENT_BATCH_SIZE } from '../../lib/database/runInBatches.ts';

/** Assignments that empty what a deleted generation says. Credits, costs and times stay for accounting. */
export const PURGED = `prompt = '', params = '{}', idempotency_key = NULL, webhook_url = NULL, metadata = NULL,
          error_message = CASE WHEN error_message IS NOT NULL THEN '' END, purged_at = :now`;

export const PURGE_ACCOUNT = prepared(
  'purge_account_generations',
  `WITH old AS (
     SELECT uuid, account_id FROM generations
      WHERE deleted_at IS NOT NULL AND purged_at IS NULL AND status <> 'queued' AND account_id = :accountId
      LIMIT ${STATEMENT_BATCH_SIZE} FOR NO KEY UPDATE
   )
   UPDATE generations g SET ${PURGED}
     FROM old WHERE g.uuid = old.uuid AND g.account_id = old.account_id
   RETURNING g.uuid`,
);

/** Purges all deleted generations of an account at once. The caller has deleted its events. */
export async function purgeAccountGenerations(accountId: number): Promise<void> {
  await runInBatches(PURGE_ACCOUNT, { now: now(), accountId });
}
