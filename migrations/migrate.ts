import type { Knex } from 'knex';
import { MIGRATION_NAMES, type MigrationName, MIGRATIONS_TABLE } from '../shared/lib/migrationNames.ts';
import * as foundation from './0001_foundation.ts';
import * as upstreams from './0002_upstreams.ts';
import * as billing from './0003_billing.ts';
import * as subscriptionOfAccount from './0004_subscription_of_account.ts';
import * as signIn from './0005_sign_in.ts';
import * as oauth from './0006_oauth.ts';
import * as affiliates from './0007_affiliates.ts';
import * as staffMetrics from './0008_staff_metrics.ts';
import * as usedThisPeriod from './0009_used_this_period.ts';
import * as looksAtInvoices from './0010_looks_at_invoices.ts';
import * as autoTopupTriggers from './0011_auto_topup_triggers.ts';
import * as owedRefunds from './0012_owed_refunds.ts';
import * as identitiesAndGrants from './0014_identities_and_grants.ts';

/** Listed by hand, in `shared/lib/migrationNames.ts`, so that sources and build agree on the names. */
const MIGRATIONS: Record<MigrationName, Knex.Migration> = {
  '0001_foundation': foundation,
  '0002_upstreams': upstreams,
  '0003_billing': billing,
  '0004_subscription_of_account': subscriptionOfAccount,
  '0005_sign_in': signIn,
  '0006_oauth': oauth,
  '0007_affiliates': affiliates,
  '0008_staff_metrics': staffMetrics,
  '0009_used_this_period': usedThisPeriod,
  '0010_looks_at_invoices': looksAtInvoices,
  '0011_auto_topup_triggers': autoTopupTriggers,
  '0012_owed_refunds': owedRefunds,
  '0014_identities_and_grants': identitiesAndGrants,
};

const source: Knex.MigrationSource<MigrationName> = {
  getMigrations: async () => [...MIGRATION_NAMES],
  getMigrationName: (name) => name,
  getMigration: async (name) => MIGRATIONS[name],
};

/** Holds for this project's migrations alone; any constant would do. */
const ADVISORY_LOCK = 7_206_512_001;

/**
 * Brings the database up to this version, one migration after the other, each whole or not at all: so that none waits
 * behind the locks of the one before. Safe from several processes at once: each waits for the lock, and all but the first
 * find nothing to do.
 * @returns the names of the migrations that it applied.
 */
export async function migrate(db: Knex): Promise<string[]> {
  const all: string[] = [];
  for (;;) {
    const applied = await db.transaction(applyNext);
    if (applied.length === 0) return all;
    all.push(...applied);
  }
}

async function applyNext(transaction: Knex.Transaction): Promise<string[]> {
  await transaction.raw('SET LOCAL statement_timeout = 0');
  await transaction.raw('SELECT pg_advisory_xact_lock(?)', [ADVISORY_LOCK]);
  // Behind a migration that waits for a table everybody else would wait, too: it gives up, and can be run again.
  await transaction.raw(`SET LOCAL lock_timeout = '10s'`);
  // The lock belongs to this transaction, and the migration runs inside it.
  const [, applied] = (await transaction.migrate.up({
    migrationSource: source,
    tableName: MIGRATIONS_TABLE,
    disableTransactions: true,
  })) as [number, string[]];
  return applied;
}
