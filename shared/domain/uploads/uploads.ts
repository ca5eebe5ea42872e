import { randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { deleteUploadFiles, getImageName, getImagePath } from '../../gateways/media/inputImages.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { ServiceError } from '../../spec/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../spec/durations.ts';
import { UNUSED_UPLOADS_MAX, UPLOAD_ADDRESS_MS, UPLOAD_RETENTION_MS, UPLOAD_TIME_LIMIT_MS } from '../../spec/limits.ts';
import { Upload } from '../../tables/Upload.ts';
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

/** Adds a row, or returns the one that the same image has already. Counts what no generation uses. */
const ADD_UPLOAD = prepared(
  'add_upload',
  `INSERT INTO uploads (uuid, account_id, source, status, content_type, bytes, created_at, expires_at)
   SELECT cast(:uuid AS uuid), a.id, :source, 'pending', :contentType, :bytes, cast(:now AS timestamptz),
          cast(:expires AS timestamptz)
     FROM accounts a
    WHERE a.id = :accountId AND a.erased_at IS NULL
      AND (SELECT count(*) FROM uploads u
            WHERE u.account_id = :accountId AND u.created_at > :recent
              AND NOT EXISTS (SELECT FROM generation_inputs i WHERE i.upload_uuid = u.uuid)) < ${UNUSED_UPLOADS_MAX}
   ON CONFLICT (uuid) DO UPDATE SET expires_at = excluded.expires_at
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
 * @throws ServiceError rate_limited if the account has too many images that no generation uses.
 */
export async function addUpload({ accountId, source, contentType, bytes, uuid }: NewUpload): Promise<Upload> {
  const at = now();
  const [row] = await runStatement<Upload>(ADD_UPLOAD, {
    uuid: uuid ?? uuidv7(),
    accountId,
    source,
    contentType,
    bytes,
    now: at,
    recent: addMilliseconds(at, -DAY_MS),
    expires: addMilliseconds(at, UPLOAD_RETENTION_MS),
  });
  if (row !== undefined) return row;
  throw new ServiceError(
    'rate_limited',
    `The account has ${UNUSED_UPLOADS_MAX} images of the last 24 hours that no generation uses. Use them, or try again later.`,
    { retryAfterSeconds: 3_600 },
  );
}

const USE_UPLOAD = prepared(
  'use_upload',
  `UPDATE uploads SET expires_at = greatest(expires_at, cast(:expires AS timestamptz))
    WHERE uuid = :uuid AND account_id = :accountId
   RETURNING *`,
);

/** Finds an upload of an account that is about to be used, and keeps it for another 24 hours. */
export async function findUploadForUse(accountId: number, uuid: string): Promise<Upload | undefined> {
  const expires = addMilliseconds(now(), UPLOAD_RETENTION_MS);
  const [row] = await runStatement<Upload>(USE_UPLOAD, { uuid, accountId, expires });
  return row;
}

/** Deletes the files below a folder, whose token is the key: those of deleted uploads, and of folders without an upload. */
export const DELETE_UPLOAD_FILES: TaskKind = {
  name: 'upload.deleteFiles',
  backoff: { minMs: MINUTE_MS, maxMs: HOUR_MS },
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
 * does; the files of the others are deleted. So an image that is ready never changes, whatever its client still sends to
 * the address of the upload. What it sends is deleted when nothing can arrive any more.
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
  `UPDATE uploads SET status = 'failed', error = :error WHERE uuid = :uuid AND status = 'pending' RETURNING *`,
);

/** Records that the file is not an image that can be used. */
export async function failUpload(upload: Upload, error: string): Promise<Upload> {
  const [row] = await runStatement<Upload>(FAIL_UPLOAD, { uuid: upload.uuid, error });
  return row ?? upload;
}

/** Finds the stored image of an upload: its path in the media store, and its file name. */
export async function findStoredImage(uuid: string): Promise<{ path: string; name: string } | undefined> {
  const upload = await Upload.query().findOne({ uuid, status: 'ready' });
  if (upload === undefined) return undefined;
  const { media_token: token, content_type: contentType } = upload;
  return { path: getImagePath(token, contentType), name: getImageName(contentType) };
}
