import type { Knex } from 'knex';
import type pg from 'pg';
import { SQL_FUNCTIONS } from '../shared/domain/features.ts';
import { now } from '../shared/lib/clock.ts';
import { installSqlFunctions } from '../shared/lib/database/sqlFunctions.ts';
import { buildConcurrentIndexes } from './concurrentIndexes.ts';
import { type Migration, readMigrations } from './readMigrations.ts';

/** Key of the advisory lock that serializes migrations. An arbitrary constant, used for nothing else. */
const ADVISORY_LOCK = 7_206_512_001;

/**
 * Migrates the database to this version, one transaction per migration, so that no migration holds the locks of an
 * earlier one, and installs the functions that this version calls. Safe to run from several processes at once: each
 * waits for the lock, and all but the first have nothing left to apply.
 * @param migrations in order, by name.
 * @returns the names of the applied migrations.
 * @throws Error if the database belongs to another series of migrations, or if one fails.
 */
export async function migrate(db: Knex, migrations = readMigrations()): Promise<string[]> {
  const all: string[] = [];
  await requireSameSeries(db, Object.keys(migrations));
  for (;;) {
    const next = await findNext(db, migrations);
    if (next === undefined) break;
    await buildConcurrentIndexes(db, migrations[next]?.concurrentIndexes ?? []);
    if (await db.transaction((transaction) => apply(transaction, migrations, next))) all.push(next);
  }
  await db.transaction(async (transaction) => {
    await transaction.raw('SELECT pg_advisory_xact_lock(?)', [ADVISORY_LOCK]);
    await installSqlFunctions(transaction, SQL_FUNCTIONS);
  });
  return all;
}

/** Returns the first migration that was not applied. */
async function findNext(db: Knex, migrations: Record<string, Migration>): Promise<string | undefined> {
  const applied = await listApplied(db);
  return Object.keys(migrations).find((name) => !applied.includes(name));
}

async function listApplied(db: Knex): Promise<string[]> {
  return (await db.schema.hasTable('migrations')) ? db('migrations').pluck<string[]>('name') : [];
}

/**
 * Rejects a database whose migrations are not those of this project up to some version. A newer one has all of this
 * version and more.
 */
async function requireSameSeries(db: Knex, known: readonly string[]): Promise<void> {
  const applied = await listApplied(db);
  const foreign = applied.find((name) => !known.includes(name));
  const missing = known.find((name) => !applied.includes(name));
  if (foreign === undefined || missing === undefined) return;
  throw new Error(
    `The database has the migration ${foreign}, which this release does not have, but not ${missing}: it belongs to another series of migrations, or to a release that was built from another branch. Use the release that made it, or an empty database.`,
  );
}

/** Applies a migration unless another process has done so since. @returns whether it was applied. */
async function apply(
  transaction: Knex.Transaction,
  migrations: Record<string, Migration>,
  name: string,
): Promise<boolean> {
  await transaction.raw('SET LOCAL statement_timeout = 0');
  await transaction.raw('SELECT pg_advisory_xact_lock(?)', [ADVISORY_LOCK]);
  // All other queries would queue behind a migration that waits for a table lock, so it fails and can be run again.
  await transaction.raw(`SET LOCAL lock_timeout = '10s'`);
  if ((await findNext(transaction, migrations)) !== name) return false;
  await execute(transaction, (migrations[name] as Migration).sql);
  await transaction('migrations').insert({ name, applied_at: now() });
  return true;
}

/** Executes statements as they are: knex would take question marks for placeholders, and repeat all in an error. */
async function execute(transaction: Knex.Transaction, sql: string): Promise<void> {
  const connection = (await transaction.client.acquireConnection()) as pg.Client;
  await connection.query(sql);
}
