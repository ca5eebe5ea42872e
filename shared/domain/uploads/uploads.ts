import { randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { deleteUploadFiles, getImageName, getImagePath } from '../../gateways/media/inputImages.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { ServiceError } from '../../spec/errors.ts';
import { HOUR_MS } from '../../spec/durations.ts';
import {
  UNUSED_UPLOADS_MAX,
  UNUSED_UPLOADS_MAX_BYTES,
  UPLOAD_ADDRESS_MS,
  UPLOAD_MAX_AGE_MS,
  UPLOAD_RETENTION_MS,
  UPLOAD_TIME_LIMIT_MS,
} from '../../spec/limits.ts';
import { Upload } from '../../tables/Upload.ts';
import { withAccountLock } from '../credits/ledger.ts';
import type { TaskKind } from '../tasks/taskKind.ts';

/**
 * Rows of uploads. A row is written before any file of it, so that the files of a process that died are found by the
 * row, which expires.
 */

/**
 * Time within which the file of an upload may arrive, as an interval of the database: sending it begins before the
 * address expires, and may take some minutes.
 */
export const ADDRESS_TIME = `${UPLOAD_ADDRESS_MS + UPLOAD_TIME_LIMIT_MS} milliseconds`;

/**
 * A generation keeps its images while it is queued, and those that were paid for until they are deleted. One that
 * failed cost nothing, as those of test mode, so that they must not keep files.
 */
export const IS_KEPT = `EXISTS (
     SELECT FROM generation_inputs i JOIN generations g ON g.uuid = i.generation_uuid AND g.account_id = i.account_id
      WHERE i.upload_uuid = u.uuid
        AND (g.status = 'queued' OR (g.status = 'succeeded' AND g.deleted_at IS NULL AND NOT g.is_test)))`;

/** Adds a row, or returns the one that the same image has already, under the lock of its account. */
const ADD_UPLOAD = prepared(
  'add_upload',
  `INSERT INTO uploads (uuid, account_id, source, status, content_type, bytes, created_at, expires_at)
   SELECT cast(:uuid AS uuid), :accountId, :source, 'pending', :contentType, cast(:bytes AS integer),
          cast(:now AS timestamptz), cast(:expires AS timestamptz)
     FROM (SELECT count(*) AS images, coalesce(sum(u.bytes), 0) AS bytes FROM uploads u
            WHERE u.account_id = :accountId AND u.created_at > :recent AND NOT ${IS_KEPT}) unused
    WHERE unused.images < ${UNUSED_UPLOADS_MAX}
      AND unused.bytes + cast(:bytes AS integer) <= ${UNUSED_UPLOADS_MAX_BYTES}
   ON CONFLICT (uuid) DO UPDATE SET expires_at = uploads.expires_at
   RETURNING *`,
);

interface NewUpload {
  accountId: number;
  source: Upload['source'];
  contentType: string;
  bytes: number;
  /** UUID for the same image in later requests. Default: a new one. */
  uuid?: string;
}

/**
 * Adds a pending upload.
 * @throws ServiceError rate_limited if the account has too many images that no generation keeps.
 */
export async function addUpload({
  accountId,
  source,
  contentType,
  bytes,
  uuid = uuidv7(),
}: NewUpload): Promise<Upload> {
  const row = await withAccountLock(accountId, async (transaction, { erased_at: erasedAt }) => {
    if (erasedAt !== null) return undefined;
    const at = now();
    const times = { now: at, recent: addMilliseconds(at, -UPLOAD_RETENTION_MS) };
    const bindings = { uuid, accountId, source, contentType, bytes, expires: addMilliseconds(at, UPLOAD_RETENTION_MS) };
    return (await runStatement<Upload>(ADD_UPLOAD, { ...bindings, ...times }, transaction))[0];
  });
  if (row !== undefined) return row;
  const maxMegabytes = (UNUSED_UPLOADS_MAX_BYTES / 1_000_000).toLocaleString('en');
  throw new ServiceError(
    'rate_limited',
    `The account may have ${UNUSED_UPLOADS_MAX} images of the last 24 hours, and ${maxMegabytes} MB of them, that no queued or succeeded generation uses. Use them, or try again later.`,
    { retryAfterSeconds: 3_600 },
  );
}

const USE_UPLOAD = prepared(
  'use_upload',
  `UPDATE uploads
      SET expires_at = greatest(
            expires_at,
            least(cast(:expires AS timestamptz), created_at + interval '${UPLOAD_MAX_AGE_MS} milliseconds'))
    WHERE uuid = :uuid AND account_id = :accountId
   RETURNING *`,
);

/**
 * Finds an upload of an account that is about to be used, and keeps it for another 24 hours, up to its maximum age:
 * requests that fail must not keep it for ever.
 */
export async function findUploadForUse(accountId: number, uuid: string): Promise<Upload | undefined> {
  const expires = addMilliseconds(now(), UPLOAD_RETENTION_MS);
  const [row] = await runStatement<Upload>(USE_UPLOAD, { uuid, accountId, expires });
  return row;
}

/**
 * Deletes the files below a folder, whose token is the key: those of deleted uploads, and of folders without an upload.
 */
export const DELETE_UPLOAD_FILES: TaskKind = {
  name: 'upload.deleteFiles',
  backoff: { minMs: 5_000, maxMs: HOUR_MS },
  concurrency: 8,
  run: async ([{ key }]) => {
    await deleteUploadFiles(key);
    return undefined;
  },
};

const RESERVE_FOLDER = prepared(
  'reserve_upload_folder',
  `INSERT INTO tasks (kind, key, run_at, created_at)
   VALUES ('${DELETE_UPLOAD_FILES.name}', cast(:token AS text), :until, :now)`,
);

/**
 * Reserves a folder for a decoded image by scheduling its deletion, so that its files are found if the process dies.
 * @returns its token.
 */
export async function reserveFolder(): Promise<string> {
  const token = randomUUID();
  const at = now();
  await runStatement(RESERVE_FOLDER, { token, now: at, until: addMilliseconds(at, UPLOAD_ADDRESS_MS) });
  return token;
}

const COMPLETE_UPLOAD = prepared(
  'complete_upload',
  `WITH reserved AS MATERIALIZED (
     SELECT id, cast(key AS uuid) AS media_token FROM tasks
      WHERE kind = '${DELETE_UPLOAD_FILES.name}' AND key = cast(:token AS text) AND lease IS NULL FOR UPDATE
   ), completed AS (
     UPDATE uploads u
        SET status = 'ready', media_token = reserved.media_token, content_type = :contentType, bytes = :bytes,
            width = :width, height = :height
       FROM reserved WHERE u.uuid = :uuid AND u.status = 'pending'
     RETURNING u.*
   ), kept AS (
     DELETE FROM tasks t USING reserved, completed WHERE t.id = reserved.id
   ), original AS (
     INSERT INTO tasks (kind, key, account_id, run_at, created_at)
     SELECT '${DELETE_UPLOAD_FILES.name}', cast(:original AS text), account_id,
            greatest(cast(:now AS timestamptz), created_at + cast(:addressTime AS interval)), cast(:now AS timestamptz)
       FROM completed WHERE source = 'upload'
     ON CONFLICT (kind, key) DO NOTHING
   )
   SELECT * FROM completed`,
);

/**
 * Records that the decoded image is stored in a reserved folder. Of several processes that decoded the same upload one
 * does; the files of the others are deleted. So an image that is ready never changes, whatever its client still sends
 * to the address of the upload. What it sends is deleted when nothing can arrive any more.
 * @returns the row, or undefined if it was deleted meanwhile.
 */
export async function completeUpload(
  { uuid, media_token: original }: Upload,
  token: string,
  { contentType, bytes, width, height }: { contentType: string; bytes: number; width: number; height: number },
): Promise<Upload | undefined> {
  const bindings = { uuid, original, token, contentType, bytes, width, height };
  const [row] = await runStatement<Upload>(COMPLETE_UPLOAD, { ...bindings, now: now(), addressTime: ADDRESS_TIME });
  return row ?? Upload.query().findById(uuid);
}

const FAIL_UPLOAD = prepared(
  'fail_upload',
  `UPDATE uploads SET status = 'failed', error = :error, bytes = greatest(cast(:bytes AS integer), 1)
    WHERE uuid = :uuid AND status = 'pending' RETURNING *`,
);

/** Records that the file, of the size that `upload` has, is not an image that can be used. */
export async function failUpload(upload: Upload, error: string): Promise<Upload> {
  const [row] = await runStatement<Upload>(FAIL_UPLOAD, { uuid: upload.uuid, error, bytes: upload.bytes });
  return row ?? upload;
}

/** Finds the stored image of an upload: its path in the media store, and its file name. */
export async function findStoredImage(uuid: string): Promise<{ path: string; name: string } | undefined> {
  const upload = await Upload.query().findOne({ uuid, status: 'ready' });
  if (upload === undefined) return undefined;
  const { media_token: token, content_type: contentType } = upload;
  return { path: getImagePath(token, contentType), name: getImageName(contentType) };
}
