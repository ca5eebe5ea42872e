import { createBatcher } from '../../lib/batcher.ts';
import { now } from '../../lib/clock.ts';
import { DATABASE_PATIENCE, isRefusal, prepared, run } from '../../lib/db.ts';
import { maySleep, refreshedWithin } from '../../queues/announcements.ts';
import { ringForReader } from '../../queues/enqueue.ts';
import { ServiceError } from '../../spec/errors.ts';
import { REFRESH_INTERVAL_MS, REFRESH_WAIT_MS } from '../../spec/limits.ts';
import type { Generation } from '../../tables/Generation.ts';
import type { Caller } from '../accounts.ts';

interface Wanted {
  uuid: string;
  caller: Caller;
}

type Found = Generation & { place: number; known: boolean; submitted: boolean };

/** The key's look-up and the read as one statement, for all the reads that wait in this process at the moment. */
const READ = prepared(
  'read_generations',
  `SELECT wanted.place, wanted.key_hash IS NULL OR k.key_hash IS NOT NULL AS known,
          g.uuid, g.model, g.prompt, g.params, g.status, g.credits_charged, g.created_at, g.completed_at, g.output_path,
          g.thumbnail_path, g.is_watermarked, g.error_message, g.polled_at, g.upstream_handle IS NOT NULL AS submitted
     FROM unnest(cast(:uuids AS uuid[]), cast(:accounts AS bigint[]), cast(:hashes AS bytea[])) WITH ORDINALITY
            AS wanted (uuid, account_id, key_hash, place)
     LEFT JOIN api_keys k
       ON k.key_hash = wanted.key_hash AND k.account_id = wanted.account_id AND k.revoked_at IS NULL
     LEFT JOIN generations g
       ON g.uuid = wanted.uuid AND g.account_id = wanted.account_id AND g.deleted_at IS NULL`,
);

const readRow = createBatcher<Wanted, Found>({
  maxItems: 64,
  maxInFlight: 2,
  patience: DATABASE_PATIENCE,
  isOneItemsFault: isRefusal,
  run: async (wanted) => {
    const rows = await run<Found>(READ, {
      uuids: wanted.map(({ uuid }) => uuid),
      accounts: wanted.map(({ caller }) => caller.accountId),
      hashes: wanted.map(({ caller }) => caller.keyHash),
    });
    const byPlace: Found[] = [];
    for (const row of rows) byPlace[row.place - 1] = row;
    return byPlace;
  },
});

/** How a reader waits for the end of a generation. */
export interface Wait {
  /** For how long at the most; 0 for not at all. */
  seconds: number;
  /** Whether nobody is there any more to be answered. */
  isPointless: () => boolean;
}

/**
 * A generation of the caller's. Reading a queued one asks for a refresh of it, unless the last is less than 2 seconds
 * old, and waits about a second for what it brings (docs/decisions.md: Refresh on read). With `wait` it does
 * so again and again until the generation has ended or the time is over.
 * @throws ServiceError not_found where it is missing, deleted or somebody else's; invalid_api_key.
 */
export async function readGeneration(caller: Caller, uuid: string, wait?: Wait): Promise<Generation> {
  const row = await find(caller, uuid);
  if (row.status !== 'queued') return row;
  if (wait !== undefined && wait.seconds > 0) return waitForEnd(caller, row, wait);
  if (!refreshIsDue(row)) return row;
  const refreshed = refreshedWithin(uuid, REFRESH_WAIT_MS);
  if (await ringForReader(uuid)) await refreshed;
  return find(caller, uuid);
}

/** Looks again whenever there is news, and every 2 seconds where none comes: announcements may get lost. */
async function waitForEnd(caller: Caller, found: Found, { seconds, isPointless }: Wait): Promise<Generation> {
  const until = performance.now() + 1_000 * seconds;
  for (;;) {
    const leftMs = until - performance.now();
    // Listened for before the row is read: what happens in between is heard.
    const news = refreshedWithin(found.uuid, Math.min(REFRESH_INTERVAL_MS, leftMs));
    const row = await find(caller, found.uuid);
    if (row.status !== 'queued' || leftMs <= 0 || !maySleep() || isPointless()) return row;
    if (refreshIsDue(row)) void ringForReader(row.uuid);
    await news;
  }
}

async function find(caller: Caller, uuid: string): Promise<Found> {
  const row = await readRow({ uuid, caller });
  if (!row.known) throw new ServiceError('invalid_api_key', 'The API key is unknown or revoked.');
  if (row.uuid === null) throw new ServiceError('not_found', 'There is no such generation on this account.');
  return row;
}

function refreshIsDue(row: Found): boolean {
  return row.submitted && (row.polled_at === null || now().getTime() - row.polled_at.getTime() >= REFRESH_INTERVAL_MS);
}
