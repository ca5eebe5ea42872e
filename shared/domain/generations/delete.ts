import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Generation } from '../../tables/Generation.ts';
import { buildServiceCaller, type Caller } from '../accounts/caller.ts';
import { withVerifiedCredential } from '../accounts/lockedCredentials.ts';
import { DELETE_MEDIA } from './mediaDeletions.ts';

/** Numbers of generations whose deletions are counted together. A page skips at most as many rows. */
export const DELETION_BLOCK = 512;

const DELETE = prepared(
  'delete_generation',
  `WITH owner AS MATERIALIZED (
     SELECT id, generations_deleted FROM accounts WHERE id = :accountId FOR NO KEY UPDATE
   ), gone AS (
     UPDATE generations g SET deleted_at = :now
       FROM owner
      WHERE g.uuid = :uuid AND g.account_id = owner.id AND g.deleted_at IS NULL
     RETURNING g.account_id, g.number, g.status, g.media_token
   ), counted AS (
     UPDATE accounts a SET generations_deleted = owner.generations_deleted + 1
       FROM gone, owner
      WHERE a.id = gone.account_id
   ), blocks AS (
     INSERT INTO generation_deletion_counts AS d (account_id, block, deleted)
     SELECT account_id, (number - 1) / ${DELETION_BLOCK}, 1 FROM gone
     ON CONFLICT (account_id, block) DO UPDATE SET deleted = d.deleted + 1
   ), files AS (
     -- For a generation that is still queued, the statement that ends it does this.
     INSERT INTO tasks (kind, key, account_id, run_at, created_at)
     SELECT '${DELETE_MEDIA.name}', media_token, account_id, cast(:now AS timestamptz), cast(:now AS timestamptz)
       FROM gone WHERE status = 'succeeded' AND media_token IS NOT NULL
     ON CONFLICT (kind, key) DO NOTHING
   )
   SELECT number FROM gone`,
);

/**
 * Deletes a generation: it disappears from all lists, and its files are deleted soon after. Credits are not refunded. A
 * queued generation keeps its slot until it ends, and is still refunded if it fails.
 * @throws ServiceError not_found if it does not exist, was deleted before, or belongs to another account;
 *   invalid_api_key if the caller's grant was revoked or its session ended; account_suspended; insufficient_scope if
 *   its key was changed or revoked meanwhile.
 */
export async function deleteGeneration(caller: Caller, uuid: string): Promise<void> {
  const bindings = { accountId: caller.accountId, uuid, now: now() };
  const rows = await withVerifiedCredential('delete generation', caller, (transaction) =>
    runStatement(DELETE, bindings, transaction),
  );
  if (rows.length > 0) return;
  throw new ServiceError('not_found', 'Not found. This account has no generation with that UUID.');
}

const DELETE_BATCH_SIZE = 500;

/** Deletes the generations of an account one by one, so that lists, counters and file deletions stay consistent. */
export async function deleteAccountGenerations(accountId: number): Promise<void> {
  for (;;) {
    const rows = await Generation.query()
      .where({ account_id: accountId })
      .whereNull('deleted_at')
      .select('uuid')
      .orderBy('number')
      .limit(DELETE_BATCH_SIZE);
    for (const { uuid } of rows) await deleteGeneration(buildServiceCaller(accountId), uuid);
    if (rows.length < DELETE_BATCH_SIZE) return;
  }
}
