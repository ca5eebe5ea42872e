import { setTimeout as delay } from 'node:timers/promises';
import type { Knex } from 'knex';
import type pg from 'pg';

/** An index on a table that may be large. It is built without blocking writes, which no transaction can do. */
export interface ConcurrentIndex {
  name: string;
  /** Table, columns and condition: `generations (account_id, model) WHERE status = 'queued'`. */
  on: string;
  unique?: boolean;
}

/** Key of the lock that serializes index builds; a number beside that of the migrations. */
const ADVISORY_LOCK = 7_206_512_002;
const LOCK_RETRY_MS = 200;
const BRIEF_LOCK_TIMEOUT = '2s';
const BRIEF_LOCK_PAUSE_MS = 3_000;
const LOCK_NOT_AVAILABLE = '55P03';
/** Names of partitions' indexes have an ending, and Postgres cuts names after 63 bytes. */
const NAME_MAX_CHARACTERS = 55;

/**
 * Builds indexes with `CREATE INDEX CONCURRENTLY`, one after the other. An interrupted build leaves an invalid index,
 * which slows writes and serves no query: it is dropped and built again. Valid indexes are kept, so this can be
 * repeated. On a partitioned table, the index of each partition is built and attached.
 *
 * Needs a direct connection: a pooler in transaction mode would lose the session's lock.
 */
export async function buildConcurrentIndexes(db: Knex, indexes: readonly ConcurrentIndex[]): Promise<void> {
  if (indexes.length === 0) return;
  for (const { name } of indexes) {
    if (name.length > NAME_MAX_CHARACTERS)
      throw new Error(`The index ${name} needs a name of at most ${NAME_MAX_CHARACTERS} characters.`);
  }
  const client = db.client as {
    acquireConnection(): Promise<pg.Client>;
    releaseConnection(c: pg.Client): Promise<void>;
  };
  const connection = await client.acquireConnection();
  try {
    // The build waits for older transactions. It blocks no one meanwhile, so it may wait for as long as it takes.
    await connection.query('SET statement_timeout = 0; SET lock_timeout = 0');
    await waitForLock(connection);
    for (const index of indexes) await buildIndex(connection, index);
  } finally {
    // A connection that was lost has no lock any more, and the error of the build must not be replaced.
    await connection
      .query(`SELECT pg_advisory_unlock_all(); RESET statement_timeout; RESET lock_timeout`)
      .catch(() => {});
    await client.releaseConnection(connection);
  }
}

/**
 * Polls for the lock instead of waiting inside a statement: the build of another process would wait for the snapshot of
 * that statement, and both for ever.
 */
async function waitForLock(connection: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await connection.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
      ADVISORY_LOCK,
    ]);
    if (rows[0]?.locked === true) return;
    await delay(LOCK_RETRY_MS);
  }
}

async function buildIndex(connection: pg.Client, index: ConcurrentIndex): Promise<void> {
  const { name, on } = index;
  const [table, definition] = splitTable(on);
  const { rows } = await connection.query<{ is_valid: boolean | null; is_partitioned: boolean; partitions: string[] }>(
    `SELECT (SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('public.' || $1)) AS is_valid,
            t.relkind = 'p' AS is_partitioned,
            ARRAY(SELECT p.relname::text FROM pg_inherits JOIN pg_class p ON p.oid = inhrelid
                   WHERE inhparent = t.oid ORDER BY p.relname) AS partitions
       FROM pg_class t WHERE t.oid = to_regclass('public.' || $2)`,
    [name, table],
  );
  const { is_valid: isValid = null, is_partitioned: isPartitioned = false, partitions = [] } = rows[0] ?? {};
  if (isValid === true) return;
  if (!isPartitioned) {
    if (isValid === false) await connection.query(`DROP INDEX CONCURRENTLY ${name}`);
    await connection.query(`CREATE ${toKind(index)} CONCURRENTLY ${name} ON ${on}`);
    return;
  }
  // Postgres builds no index of a partitioned table concurrently. It becomes valid with the last partition's index.
  if (isValid === null) await lockBriefly(connection, `CREATE ${toKind(index)} ${name} ON ONLY ${on}`);
  for (const partition of partitions) {
    const part = { ...index, name: `${name}_${partition.replace(`${table}_`, '')}`, on: `${partition}${definition}` };
    await buildIndex(connection, part);
    await lockBriefly(connection, `ALTER INDEX ${name} ATTACH PARTITION ${part.name}`);
  }
}

/** Runs a statement that locks out writers or readers, in attempts: while it waits for its lock, they wait as well. */
async function lockBriefly(connection: pg.Client, sql: string): Promise<void> {
  for (;;) {
    try {
      await connection.query(`SET lock_timeout = '${BRIEF_LOCK_TIMEOUT}'`);
      await connection.query(sql);
      await connection.query('SET lock_timeout = 0');
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error;
      await delay(BRIEF_LOCK_PAUSE_MS);
    }
  }
}

const toKind = ({ unique = false }: ConcurrentIndex): string => (unique ? 'UNIQUE INDEX' : 'INDEX');

/** @returns the table and the rest: columns and condition. */
function splitTable(on: string): [table: string, definition: string] {
  const [table = ''] = /^\w+/.exec(on) ?? [];
  return [table, on.slice(table.length)];
}
