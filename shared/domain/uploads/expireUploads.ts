import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared } from '../../lib/database/preparedStatements.ts';
import { runInBatches, STATEMENT_BATCH_SIZE } from '../../lib/database/runInBatches.ts';
import { UPLOAD_RETENTION_MS } from '../../spec/limits.ts';
import { ADDRESS_TIME, DELETE_UPLOAD_FILES, IS_KEPT } from './uploads.ts';

/**
 * Deletes rows and records in the same statement which files must be deleted. Until its address has expired, a client
 * may still send a file, so that of a new upload is deleted after that.
 */
const DELETE_SELECTED = `
   inputs AS (
     DELETE FROM generation_inputs i USING selected WHERE i.upload_uuid = selected.uuid
   ), deleted AS (
     DELETE FROM uploads u USING selected WHERE u.uuid = selected.uuid
     RETURNING u.uuid, u.media_token, u.account_id, u.created_at, u.source
   ), files AS (
     INSERT INTO tasks (kind, key, account_id, run_at, created_at)
     SELECT '${DELETE_UPLOAD_FILES.name}', media_token, account_id,
            greatest(cast(:now AS timestamptz),
                     CASE source WHEN 'upload' THEN created_at + cast(:addressTime AS interval) END),
            cast(:now AS timestamptz)
       FROM deleted
     ON CONFLICT (kind, key) DO UPDATE SET run_at = excluded.run_at, lease = NULL
   )
   SELECT uuid FROM deleted`;

/** FOR UPDATE conflicts with the lock that a charge takes before it refers to an image. */
const DELETE_EXPIRED = prepared(
  'delete_expired_uploads',
  `WITH selected AS MATERIALIZED (
     SELECT u.uuid FROM uploads u WHERE u.expires_at <= :now AND NOT ${IS_KEPT}
      ORDER BY u.expires_at LIMIT ${STATEMENT_BATCH_SIZE} FOR UPDATE OF u SKIP LOCKED
   ), ${DELETE_SELECTED}`,
);

const KEEP_USED = prepared(
  'keep_used_uploads',
  `WITH selected AS MATERIALIZED (
     SELECT u.uuid FROM uploads u WHERE u.expires_at <= :now AND ${IS_KEPT}
      ORDER BY u.expires_at LIMIT ${STATEMENT_BATCH_SIZE} FOR NO KEY UPDATE OF u SKIP LOCKED
   )
   UPDATE uploads u SET expires_at = :later FROM selected WHERE u.uuid = selected.uuid
   RETURNING u.uuid`,
);

const DELETE_ACCOUNT_UPLOADS = prepared(
  'delete_account_uploads',
  `WITH selected AS MATERIALIZED (
     SELECT u.uuid FROM uploads u WHERE u.account_id = :accountId
      ORDER BY u.uuid LIMIT ${STATEMENT_BATCH_SIZE} FOR UPDATE
   ), ${DELETE_SELECTED}`,
);

/** Deletes images that were not used for 24 hours. Those that a generation keeps are checked again a day later. */
export async function expireUploads(): Promise<void> {
  const at = now();
  await runInBatches(KEEP_USED, { now: at, later: addMilliseconds(at, UPLOAD_RETENTION_MS) });
  await runInBatches(DELETE_EXPIRED, { now: at, addressTime: ADDRESS_TIME });
}

/** Deletes all images of an account that is being erased. None of its generations is queued. */
export async function deleteAccountUploads(accountId: number): Promise<void> {
  await runInBatches(DELETE_ACCOUNT_UPLOADS, { accountId, now: now(), addressTime: ADDRESS_TIME });
}
