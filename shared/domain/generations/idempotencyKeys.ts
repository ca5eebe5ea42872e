import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared } from '../../lib/database/preparedStatements.ts';
import { runInBatches, STATEMENT_BATCH_SIZE } from '../../lib/database/runInBatches.ts';
import { IDEMPOTENCY_KEY_RETENTION_MS } from '../../spec/limits.ts';

const PRUNE_KEYS = prepared(
  'prune_idempotency_keys',
  `WITH old AS (
     SELECT uuid, account_id FROM generations WHERE idempotency_key IS NOT NULL AND created_at <= :before
      ORDER BY created_at LIMIT ${STATEMENT_BATCH_SIZE} FOR NO KEY UPDATE SKIP LOCKED
   )
   UPDATE generations g SET idempotency_key = NULL FROM old
    WHERE g.uuid = old.uuid AND g.account_id = old.account_id
   RETURNING g.uuid`,
);

/** Deletes the idempotency keys of generations that are more than a day old. They may be used again. */
export async function pruneIdempotencyKeys(): Promise<void> {
  const before = addMilliseconds(now(), -IDEMPOTENCY_KEY_RETENTION_MS);
  await runInBatches(PRUNE_KEYS, { before });
}
