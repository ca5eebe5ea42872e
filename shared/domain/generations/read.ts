import { ensureModelsKnown } from '../catalog/knownModels.ts';
import { findModelInfo } from '../../lib/catalog/knownModels.ts';
import { createBatcher } from '../../lib/batcher.ts';
import { now } from '../../lib/clock.ts';
import { isRejection } from '../../lib/database/errors.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { DB_WAIT_TIMEOUT } from '../../lib/database/waitTimeout.ts';
import { isAcceptingWaiters, waitForGenerationUpdate } from '../../queues/generationUpdates.ts';
import { enqueueRefresh } from '../../queues/enqueue.ts';
import { ServiceError } from '../../spec/errors.ts';
import { REFRESH_INTERVAL_MS, REFRESH_WAIT_MS } from '../../spec/limits.ts';
import type { Generation } from '../../tables/Generation.ts';
import { accountSuspendedError, type Caller, invalidCredentialError } from '../accounts/accounts.ts';
import { listUpstreamsWithCallbacks } from './execution/pollPace.ts';

interface ReadRequest {
  uuid: string;
  caller: Caller;
}

interface ReadRow extends Generation {
  ordinal: number;
  is_key_valid: boolean;
  /** Missing unless a caller of the batch has a grant. */
  is_grant_valid?: boolean;
  is_suspended: boolean;
  is_refresh_due: boolean;
}

/**
 * Builds the statement that looks up the API key and reads the generation, for a batch of reads.
 * @param hasGrants true if it also looks up the grants of applications.
 */
const prepareRead = (name: string, hasGrants: boolean) =>
  prepared(
    name,
    `SELECT wanted.ordinal, wanted.key_hash IS NULL OR k.key_hash IS NOT NULL AS is_key_valid,
          ${hasGrants ? 'wanted.grant_uuid IS NULL OR o.uuid IS NOT NULL AS is_grant_valid,' : ''}
          a.suspended_at IS NOT NULL AS is_suspended,
          g.uuid, g.model, g.prompt, g.params, g.status, g.credits_charged, g.created_at, g.completed_at, g.output_path,
          g.thumbnail_path, g.is_watermarked, g.error_message, g.cancel_requested_at,
          g.metadata, g.upstream,
          g.status = 'queued' AND g.upstream_handle IS NOT NULL
            AND (g.polled_at IS NULL OR g.polled_at <= :refreshable) AS is_refresh_due
     FROM unnest(cast(:uuids AS uuid[]), cast(:accounts AS bigint[]), cast(:hashes AS bytea[]),
                 cast(:versions AS integer[])${hasGrants ? ', cast(:grants AS uuid[])' : ''}) WITH ORDINALITY
            AS wanted (uuid, account_id, key_hash, key_version, ${hasGrants ? 'grant_uuid,' : ''} ordinal)
     JOIN accounts a ON a.id = wanted.account_id
     LEFT JOIN api_keys k
       ON k.key_hash = wanted.key_hash AND coalesce(k.test_account_id, k.account_id) = wanted.account_id
      AND k.revoked_at IS NULL AND k.version = wanted.key_version AND (k.expires_at IS NULL OR k.expires_at > :now)
     ${hasGrants ? JOIN_GRANT : ''}
     LEFT JOIN generations g
       ON g.uuid = wanted.uuid AND g.account_id = wanted.account_id AND g.deleted_at IS NULL`,
  );

const JOIN_GRANT = `LEFT JOIN oauth_grants o
       ON o.uuid = wanted.grant_uuid AND o.account_id = wanted.account_id AND o.revoked_at IS NULL`;

const READ = prepareRead('read_generations', false);
/** For batches with a caller that is an application. */
const READ_BY_GRANTS = prepareRead('read_generations_by_grants', true);

const readRow = createBatcher<ReadRequest, ReadRow>({
  maxItems: 64,
  maxInFlight: 2,
  // As for charges, but a statement of reads takes a third of the time.
  intervalMs: 1,
  intervalMinItems: 4,
  waitTimeout: DB_WAIT_TIMEOUT,
  isItemError: isRejection,
  run: async (wanted) => {
    const at = now();
    const hasGrants = wanted.some(({ caller }) => caller.grantUuid !== undefined);
    const rows = await runStatement<ReadRow>(hasGrants ? READ_BY_GRANTS : READ, {
      uuids: wanted.map(({ uuid }) => uuid),
      accounts: wanted.map(({ caller }) => caller.accountId),
      hashes: wanted.map(({ caller }) => caller.keyHash),
      versions: wanted.map(({ caller }) => caller.keyVersion ?? 0),
      ...(hasGrants ? { grants: wanted.map(({ caller }) => caller.grantUuid ?? null) } : {}),
      now: at,
      refreshable: new Date(at.getTime() - REFRESH_INTERVAL_MS),
    });
    const byOrdinal: ReadRow[] = [];
    for (const row of rows) byOrdinal[row.ordinal - 1] = row;
    return byOrdinal;
  },
});

/** Options of a reader that waits for the end of a generation. */
export interface WaitOptions {
  /** Maximum time to wait; 0 returns immediately. */
  seconds: number;
  /** Returns true once the client has disconnected. */
  isAborted: () => boolean;
}

/**
 * Reads a generation of the caller. A queued one that was not polled in the last 2 seconds is refreshed first, which
 * takes about a second (docs/decisions.md: Refresh on read). With `wait` this repeats until the generation has ended or
 * the time is over.
 * @throws ServiceError not_found if it does not exist, was deleted, or belongs to another account; invalid_api_key.
 */
export async function readGeneration(caller: Caller, uuid: string, wait?: WaitOptions): Promise<Generation> {
  const row = await findGeneration(caller, uuid);
  if (row.status !== 'queued') return row;
  if (wait !== undefined && wait.seconds > 0) return waitForCompletion(caller, row, wait);
  if (!row.is_refresh_due) return row;
  const refreshed = waitForGenerationUpdate(uuid, REFRESH_WAIT_MS);
  if (await enqueueRefresh({ uuid, account_id: caller.accountId })) await refreshed;
  return findGeneration(caller, uuid);
}

/**
 * Reads the row again after every update, and every 2 seconds without one: updates may get lost. While the upstream's
 * call-backs arrive only the first read refreshes: a poll a moment before the call-back would delay the next by 2 seconds.
 */
async function waitForCompletion(
  caller: Caller,
  initial: ReadRow,
  { seconds, isAborted }: WaitOptions,
): Promise<Generation> {
  const deadline = performance.now() + 1_000 * seconds;
  for (let isFirst = true; ; isFirst = false) {
    const leftMs = deadline - performance.now();
    // Subscribed before the row is read, so that no update in between is missed.
    const update = waitForGenerationUpdate(initial.uuid, Math.min(REFRESH_INTERVAL_MS, leftMs));
    const row = await findGeneration(caller, initial.uuid);
    if (row.status !== 'queued' || leftMs <= 0 || !isAcceptingWaiters() || isAborted()) return row;
    const isCalledBack = !isFirst && listUpstreamsWithCallbacks().includes(row.upstream ?? '');
    if (row.is_refresh_due && !isCalledBack) void enqueueRefresh({ uuid: row.uuid, account_id: caller.accountId });
    await update;
  }
}

/**
 * Reads a generation of the caller as it is stored.
 * @throws ServiceError as {@link readGeneration}
 */
export async function findGeneration(caller: Caller, uuid: string): Promise<ReadRow> {
  const row = await readRow({ uuid, caller });
  if (!row.is_key_valid || row.is_grant_valid === false) throw invalidCredentialError(caller);
  if (row.is_suspended) throw accountSuspendedError();
  if (row.uuid === null)
    throw new ServiceError('not_found', 'Not found. This account has no generation with that UUID.');
  if (findModelInfo(row.model) === undefined) await ensureModelsKnown([row.model]);
  return row;
}

const FILTER_COMPLETED = prepared(
  'filter_completed_generations',
  `SELECT uuid FROM generations WHERE uuid = ANY (cast(:uuids AS uuid[])) AND status <> 'queued'`,
);

/** Returns those of these generations that have ended, deleted ones included. */
export async function filterCompleted(uuids: readonly string[]): Promise<string[]> {
  if (uuids.length === 0) return [];
  const rows = await runStatement<{ uuid: string }>(FILTER_COMPLETED, { uuids });
  return rows.map(({ uuid }) => uuid);
}
