import type { Knex } from 'knex';
import * as foundation from './0001_foundation.ts';
import * as upstreams from './0002_upstreams.ts';
import * as billing from './0003_billing.ts';
import * as subscriptionOfAccount from './0004_subscription_of_account.ts';
import * as signIn from './0005_sign_in.ts';
import * as oauth from './0006_oauth.ts';

/** In order; a name, once released, never changes. Listed by hand, so that sources and build agree on the names. */
const MIGRATIONS: Record<string, Knex.Migration> = {
  '0001_foundation': foundation,
  '0002_upstreams': upstreams,
  '0003_billing': billing,
  '0004_subscription_of_account': subscriptionOfAccount,
  '0005_sign_in': signIn,
  '0006_oauth': oauth,
};

const source: Knex.MigrationSource<string> = {
  getMigrations: async () => Object.keys(MIGRATIONS),
  getMigrationName: (name) => name,
  getMigration: async (name) => MIGRATIONS[name] as Knex.Migration,
};

/** Holds for this project's migrations alone; any constant would do. */
const ADVISORY_LOCK = 7_206_512_001;

/**
 * Brings the database up to this version. Safe from several processes at once: each waits for the lock, and all but
 * the first find nothing to do.
 * @returns the names of the migrations that it applied.
 */
export async function migrate(db: Knex): Promise<string[]> {
  return db.transaction(async (transaction) => {
    await transaction.raw('SET LOCAL statement_timeout = 0');
    await transaction.raw('SELECT pg_advisory_xact_lock(?)', [ADVISORY_LOCK]);
    // Behind a migration that waits for a table everybody else would wait, too: it gives up, and can be run again.
    await transaction.raw(`SET LOCAL lock_timeout = '10s'`);
    // The lock belongs to this transaction, and the migrations run inside it: all of them, or none.
    const [, applied] = (await transaction.migrate.latest({
      migrationSource: source,
      tableName: 'migrations',
      disableTransactions: true,
    })) as [number, string[]];
    return applied;
  });
}
