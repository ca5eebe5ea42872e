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

/**
 * Builds indexes with `CREATE INDEX CONCURRENTLY`, one after the other. An interrupted build leaves an invalid index,
 * which slows writes and serves no query: it is dropped and built again. Valid indexes are kept, so this can be repeated.
 *
 * Needs a direct connection: a pooler in transaction mode would lose the session's lock.
 */
export async function buildConcurrentIndexes(db: Knex, indexes: readonly ConcurrentIndex[]): Promise<void> {
  if (indexes.length === 0) return;
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

async function buildIndex(connection: pg.Client, { name, on, unique = false }: ConcurrentIndex): Promise<void> {
  const { rows } = await connection.query<{ indisvalid: boolean }>(
    'SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)',
    [`public.${name}`],
  );
  if (rows[0]?.indisvalid === true) return;
  if (rows[0] !== undefined) await connection.query(`DROP INDEX CONCURRENTLY ${name}`);
  await connection.query(`CREATE ${unique ? 'UNIQUE ' : ''}INDEX CONCURRENTLY ${name} ON ${on}`);
}
