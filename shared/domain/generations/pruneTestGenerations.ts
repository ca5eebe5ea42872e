import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { isDraining } from '../../lib/drain.ts';
import { firstUuidAt } from '../../lib/uuid.ts';
import type { GenerationKey } from '../../queues/catalog.ts';
import { DAY_MS } from '../../spec/durations.ts';
import { ServiceError } from '../../spec/errors.ts';
import { TEST_RETENTION_DAYS } from '../../spec/testMode.ts';
import { buildServiceCaller } from '../accounts/caller.ts';
import { deleteGeneration } from './delete.ts';

const BATCH_SIZE = 500;

const FIND_OLD_TESTS = prepared(
  'find_old_test_generations',
  `SELECT uuid, account_id FROM generations
    WHERE is_test AND deleted_at IS NULL AND status <> 'queued' AND uuid < :before
    ORDER BY uuid LIMIT ${BATCH_SIZE}`,
);

/** Deletes generations of test accounts after their retention, with their files: they cost their owners nothing. */
export async function pruneTestGenerations(): Promise<void> {
  const before = firstUuidAt(addMilliseconds(now(), -TEST_RETENTION_DAYS * DAY_MS));
  for (;;) {
    const rows = await runStatement<GenerationKey>(FIND_OLD_TESTS, { before });
    for (const { uuid, account_id: accountId } of rows) {
      await deleteGeneration(buildServiceCaller(accountId), uuid).catch((error: unknown) => {
        // Its owner has deleted it meanwhile.
        if (!(error instanceof ServiceError && error.code === 'not_found')) throw error;
      });
    }
    if (rows.length < BATCH_SIZE || isDraining()) return;
  }
}
