import { ensureModelsKnown } from '../catalog/knownModels.ts';
import { findModelInfo } from '../../lib/catalog/knownModels.ts';
import { createBatcher } from '../../lib/batcher.ts';
import { now } from '../../lib/clock.ts';
import { isRejection } from '../../lib/database/errors.ts';
import { writeArray, prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { DB_WAIT_TIMEOUT } from '../../lib/database/waitTimeout.ts';
import { isAcceptingWaiters, waitForGenerationUpdate } from '../../queues/generationUpdates.ts';
import { enqueueAwaited } from '../../queues/enqueue.ts';
import { ServiceError } from '../../spec/errors.ts';
import { REFRESH_INTERVAL_MS, REFRESH_WAIT_MS } from '../../spec/limits.ts';
import { SHOWN_COLUMNS } from '../../presenters/generation.ts';
import type { Generation } from '../../tables/Generation.ts';
import {
  accountSuspendedError,
  buildKeyCaller,
  invalidCredentialError,
  IS_OWNED_KEY,
  KEY_OWNER_COLUMNS,
  type KeyOwnerRow,
  recallKeyCaller,
  verifyApiKey,
} from '../accounts/credentials.ts';
import { assertSameRights } from '../accounts/lockedCredentials.ts';
import type { Caller, Credential, KeyCredential } from '../accounts/caller.ts';
import { qualifyColumns } from '../exportList.ts';
import { listUpstreamsWithCallbacks } from './execution/pollPace.ts';

/** A generation as it is stored, and the step that a read of it leads to. */
interface StoredGeneration extends Generation {
  /** Null if it has ended, is not submitted, or that step was made less than 2 seconds ago. */
  awaited_step: 'poll' | 'collect' | null;
}

/** The credential of a read, and the generation; its `uuid` is null if the account has none. */
type ReadRow = KeyOwnerRow & { ordinal: number; is_valid: boolean; uuid: string | null };

/**
 * Finds the credential and the generation of each read of a batch. The account is given, so that Postgres finds the
 * generation by its primary key, whatever it knows about the number of generations of an account.
 */
const READ = prepared(
  'read_generations',
  `SELECT wanted.ordinal, ${KEY_OWNER_COLUMNS},
          (wanted.key_hash IS NULL OR k.key_hash IS NOT NULL)
            AND (wanted.grant_uuid IS NULL OR EXISTS (
                   SELECT FROM oauth_grants o
                    WHERE o.uuid = wanted.grant_uuid AND o.account_id = wanted.account_id AND o.revoked_at IS NULL)) AS is_valid,
          ${qualifyColumns('g', SHOWN_COLUMNS).join(', ')}, g.upstream,
          CASE WHEN g.status <> 'queued' OR g.upstream_handle IS NULL OR g.leased_until > :now THEN NULL
               WHEN g.upstream_output IS NOT NULL THEN 'collect'
               WHEN g.polled_at IS NULL OR g.polled_at <= :refreshable THEN 'poll' END AS awaited_step
     FROM unnest(${writeArray('uuids', 'uuid')}, cast(:accounts AS bigint[]), cast(:hashes AS bytea[]), cast(:grants AS uuid[]))
            WITH ORDINALITY AS wanted (uuid, account_id, key_hash, grant_uuid, ordinal)
     LEFT JOIN api_keys k
       ON k.key_hash = wanted.key_hash AND coalesce(k.test_account_id, k.account_id) = wanted.account_id AND ${IS_OWNED_KEY}
     LEFT JOIN members m ON m.account_id = k.account_id AND m.number = k.member_number
     JOIN accounts a ON a.id = coalesce(k.account_id, wanted.account_id)
     LEFT JOIN generations g
       ON g.uuid = wanted.uuid AND g.account_id = wanted.account_id AND g.deleted_at IS NULL`,
);

const readRow = createBatcher<{ accountId: number; credential: Credential; uuid: string }, ReadRow | undefined>({
  maxItems: 64,
  maxInFlight: 2,
  // As for charges, but a statement of reads takes a third of the time.
  intervalMs: 1,
  intervalMinItems: 4,
  waitTimeout: DB_WAIT_TIMEOUT,
  isItemError: isRejection,
  run: async (wanted) => {
    const at = now();
    const rows = await runStatement<ReadRow>(READ, {
      uuids: wanted.map(({ uuid }) => uuid),
      accounts: wanted.map(({ accountId }) => accountId),
      hashes: wanted.map(({ credential }) => (credential.kind === 'key' ? credential.hash : null)),
      grants: wanted.map(({ credential }) => (credential.kind === 'token' ? credential.grantUuid : null)),
      now: at,
      refreshable: new Date(at.getTime() - REFRESH_INTERVAL_MS),
    });
    const byOrdinal = Array.from<ReadRow | undefined>({ length: wanted.length });
    for (const row of rows) byOrdinal[row.ordinal - 1] = row;
    return byOrdinal;
  },
});

/** A generation that was read with the API key of the request, or null if its account has none with that UUID. */
export interface ReadByKey {
  caller: Caller;
  generation: StoredGeneration | null;
}

/**
 * Finds the account and the rights of a key, as `verifyApiKey`, and reads one of its generations in the same statement:
 * reads are the most frequent request.
 * @throws ServiceError invalid_api_key, account_suspended
 */
export async function readByKey(key: KeyCredential, uuid: string): Promise<ReadByKey> {
  const { accountId } = recallKeyCaller(key) ?? (await verifyApiKey(key));
  const row = await readRow({ accountId, credential: key, uuid });
  const caller = buildKeyCaller(key, row?.is_valid === true ? row : undefined);
  return { caller, generation: toGeneration(row) };
}

function toGeneration(row: ReadRow | undefined): StoredGeneration | null {
  return row?.uuid == null ? null : (row as unknown as StoredGeneration);
}

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
 * @param present the row, if it was read with the key of the caller.
 * @throws ServiceError not_found if it does not exist, was deleted, or belongs to another account; invalid_api_key.
 */
export async function readGeneration(
  caller: Caller,
  uuid: string,
  wait?: WaitOptions,
  present?: ReadByKey['generation'],
): Promise<Generation> {
  const row = present === undefined ? await findGeneration(caller, uuid) : await requireFound(present);
  if (row.status !== 'queued') return row;
  if (wait !== undefined && wait.seconds > 0) return waitForCompletion(caller, row, wait);
  if (row.awaited_step === null) return row;
  const refreshed = waitForGenerationUpdate(uuid, REFRESH_WAIT_MS);
  if (await enqueueAwaitedStep(row, caller)) await refreshed;
  return findGeneration(caller, uuid);
}

/**
 * Reads the row again after every update, and every 2 seconds without one: updates may get lost. While the upstream's
 * call-backs arrive only the first read refreshes: a poll a moment before the call-back would delay the next by 2
 * seconds.
 */
async function waitForCompletion(
  caller: Caller,
  initial: StoredGeneration,
  { seconds, isAborted }: WaitOptions,
): Promise<Generation> {
  const deadline = performance.now() + 1_000 * seconds;
  for (let isFirst = true; ; isFirst = false) {
    const leftMs = Math.max(0, deadline - performance.now());
    // Subscribed before the row is read, so that no update in between is missed.
    const update = waitForGenerationUpdate(initial.uuid, Math.min(REFRESH_INTERVAL_MS, leftMs));
    const row = await findGeneration(caller, initial.uuid);
    if (row.status !== 'queued' || leftMs === 0 || !isAcceptingWaiters() || isAborted()) return row;
    const isCalledBack = !isFirst && listUpstreamsWithCallbacks().includes(row.upstream ?? '');
    if (!isCalledBack || row.awaited_step === 'collect') void enqueueAwaitedStep(row, caller);
    await update;
  }
}

async function enqueueAwaitedStep(row: StoredGeneration, { accountId }: Caller): Promise<boolean> {
  const { uuid, upstream, awaited_step: step } = row;
  return step !== null && enqueueAwaited(step, { uuid, account_id: accountId, upstream: upstream as string });
}

/**
 * Reads a generation of the caller as it is stored, and verifies a key and its rights, or a grant, again.
 * @throws ServiceError as {@link readGeneration}
 */
export async function findGeneration(caller: Caller, uuid: string): Promise<StoredGeneration> {
  const row = await readRow({ ...caller, uuid });
  if (row?.is_valid !== true || row.options?.hasExpired === true) throw invalidCredentialError(caller);
  if (row.is_suspended) throw accountSuspendedError();
  if (caller.credential.kind === 'key') assertSameRights(buildKeyCaller(caller.credential, row), caller);
  return requireFound(toGeneration(row));
}

async function requireFound(row: StoredGeneration | null): Promise<StoredGeneration> {
  if (row === null) throw new ServiceError('not_found', 'Not found. This account has no generation with that UUID.');
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
