import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared } from '../../lib/database/preparedStatements.ts';
import { runInBatches, STATEMENT_BATCH_SIZE } from '../../lib/database/runInBatches.ts';
import { DAY_MS } from '../../spec/durations.ts';

/**
 * Days after a deletion until prompt, parameters and error of the generation are purged. One whose event is not dispatched yet
 * is purged once it is: the event is built from them.
 */
const DELETED_PROMPT_RETENTION_DAYS = 30;

/** Empties prompt, parameters, error message, idempotency key, webhook_url and metadata. Credits, costs and times stay for accounting. */
const PURGE_UPDATE = `
   UPDATE generations g SET prompt = '', params = '{}', idempotency_key = NULL, webhook_url = NULL, metadata = NULL,
          error_message = CASE WHEN error_message IS NOT NULL THEN '' END, purged_at = :now
     FROM old WHERE g.uuid = old.uuid AND g.account_id = old.account_id
   RETURNING g.uuid`;

const PURGE_OLD = prepared(
  'purge_generations',
  `WITH old AS (
     SELECT uuid, account_id FROM generations
      WHERE deleted_at IS NOT NULL AND purged_at IS NULL AND status <> 'queued' AND deleted_at <= :before
        AND NOT EXISTS (SELECT FROM outbox_events e
                         WHERE e.account_id = generations.account_id AND e.type = 'generation.' || generations.status
                           AND e.subject = cast(generations.uuid AS text) AND e.next_attempt_at IS NOT NULL)
      ORDER BY deleted_at LIMIT ${STATEMENT_BATCH_SIZE} FOR NO KEY UPDATE SKIP LOCKED
   )${PURGE_UPDATE}`,
);

const PURGE_ACCOUNT = prepared(
  'purge_account_generations',
  `WITH old AS (
     SELECT uuid, account_id FROM generations
      WHERE deleted_at IS NOT NULL AND purged_at IS NULL AND status <> 'queued' AND account_id = :accountId
      LIMIT ${STATEMENT_BATCH_SIZE} FOR NO KEY UPDATE
   )${PURGE_UPDATE}`,
);

/** Purges prompts, parameters and errors of generations that were deleted long ago. */
export async function purgeDeletedGenerations(): Promise<void> {
  const at = now();
  const before = addMilliseconds(at, -DELETED_PROMPT_RETENTION_DAYS * DAY_MS);
  await runInBatches(PURGE_OLD, { now: at, before });
}

/** Purges all deleted generations of an account at once. The caller has deleted its events. */
export async function purgeAccountGenerations(accountId: number): Promise<void> {
  await runInBatches(PURGE_ACCOUNT, { now: now(), accountId });
}
