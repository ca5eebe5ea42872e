import type { Knex } from 'knex';
import { SQL_FUNCTIONS } from '../shared/domain/sqlFunctions.ts';
import { installSqlFunctions } from '../shared/lib/database/sqlFunctions.ts';
import { type MigrationName, MIGRATIONS_TABLE } from '../shared/lib/migrationNames.ts';
import { buildConcurrentIndexes, type ConcurrentIndex } from './concurrentIndexes.ts';
import * as accounts from './0001_accounts.ts';
import * as subscriptions from './0002_subscriptions.ts';
import * as ledger from './0003_ledger.ts';
import * as generations from './0004_generations.ts';
import * as upstreams from './0005_upstreams.ts';
import * as payments from './0006_payments.ts';
import * as idempotency from './0007_idempotency.ts';
import * as affiliates from './0008_affiliates.ts';
import * as oauth from './0009_oauth.ts';
import * as metrics from './0010_metrics.ts';
import * as staffActions from './0011_staff_actions.ts';
import * as privacy from './0012_privacy.ts';
import * as usageKeys from './0013_usage_keys.ts';
import * as listFilters from './0014_list_filters.ts';
import * as invoices from './0015_invoices.ts';
import * as staffConsole from './0016_staff_console.ts';
import * as reports from './0017_reports.ts';
import * as reportIndexes from './0018_report_indexes.ts';
import * as notifications from './0019_notifications.ts';
import * as cancelMetadata from './0020_cancel_metadata.ts';
import * as metadataIndex from './0020_metadata_index.ts';
import * as catalog from './0021_catalog.ts';
import * as catalogPlans from './0022_catalog_plans.ts';
import * as uploads from './0023_uploads.ts';
import * as spendingLimits from './0024_spending_limits.ts';
import * as spendingLimitsIndex from './0024_spending_limits_index.ts';
import * as keyOptions from './0025_key_options.ts';
import * as keyExpiryIndex from './0025_key_expiry_index.ts';
import * as testAccounts from './0026_test_accounts.ts';
import * as testAccountsIndex from './0026_test_accounts_index.ts';
import * as canceledHours from './0029_canceled_hours.ts';
import * as generationFillfactor from './0030_generation_fillfactor.ts';
import * as pastDueIndex from './0032_past_due_index.ts';
import * as planHistory from './0033_plan_history.ts';
import * as topupRemainders from './0034_topup_remainders.ts';
import * as topupRemaindersIndex from './0034_topup_remainders_index.ts';
import * as autoTopupNeed from './0035_auto_topup_need.ts';
import * as accountErrors from './0036_account_errors.ts';
import * as accountScope from './0037_account_scope.ts';
import * as enabledSince from './0038_enabled_since.ts';
import * as staffApprovals from './0039_staff_approvals.ts';
import * as accountErrorAccount from './0040_account_error_account.ts';

/** A migration, and the indexes on existing tables that are built before its transaction. */
export interface Migration extends Knex.Migration {
  concurrentIndexes?: readonly ConcurrentIndex[];
}

/** One migration for each name in `shared/lib/migrationNames.ts`, so that sources and build use the same names. */
export const MIGRATIONS: Record<MigrationName, Migration> = {
  '0001_accounts': accounts,
  '0002_subscriptions': subscriptions,
  '0003_ledger': ledger,
  '0004_generations': generations,
  '0005_upstreams': upstreams,
  '0006_payments': payments,
  '0007_idempotency': idempotency,
  '0008_affiliates': affiliates,
  '0009_oauth': oauth,
  '0010_metrics': metrics,
  '0011_staff_actions': staffActions,
  '0012_privacy': privacy,
  '0013_usage_keys': usageKeys,
  '0014_list_filters': listFilters,
  '0015_invoices': invoices,
  '0016_staff_console': staffConsole,
  '0017_reports': reports,
  '0018_report_indexes': reportIndexes,
  '0019_notifications': notifications,
  '0020_cancel_metadata': cancelMetadata,
  '0020_metadata_index': metadataIndex,
  '0021_catalog': catalog,
  '0022_catalog_plans': catalogPlans,
  '0023_uploads': uploads,
  '0024_spending_limits': spendingLimits,
  '0024_spending_limits_index': spendingLimitsIndex,
  '0025_key_options': keyOptions,
  '0025_key_expiry_index': keyExpiryIndex,
  '0026_test_accounts': testAccounts,
  '0026_test_accounts_index': testAccountsIndex,
  '0029_canceled_hours': canceledHours,
  '0030_generation_fillfactor': generationFillfactor,
  '0032_past_due_index': pastDueIndex,
  '0033_plan_history': planHistory,
  '0034_topup_remainders': topupRemainders,
  '0034_topup_remainders_index': topupRemaindersIndex,
  '0035_auto_topup_need': autoTopupNeed,
  '0036_account_errors': accountErrors,
  '0037_account_scope': accountScope,
  '0038_enabled_since': enabledSince,
  '0039_staff_approvals': staffApprovals,
  '0040_account_error_account': accountErrorAccount,
};

/** Key of the advisory lock that serializes migrations. An arbitrary constant, used for nothing else. */
const ADVISORY_LOCK = 7_206_512_001;

/**
 * Migrates the database to this version, one transaction per migration, so that no migration holds the locks of an
 * earlier one, and installs the functions that this version calls. Safe to run from several processes at once: each waits
 * for the lock, and all but the first have nothing left to apply.
 * @param migrations in order, by name.
 * @returns the names of the applied migrations.
 * @throws Error if the database belongs to another series of migrations, or if one fails.
 */
export async function migrate(db: Knex, migrations: Record<string, Migration> = MIGRATIONS): Promise<string[]> {
  const all: string[] = [];
  await requireSameSeries(db, Object.keys(migrations));
  for (;;) {
    const next = await findNext(db, migrations);
    if (next === undefined) break;
    await buildConcurrentIndexes(db, migrations[next]?.concurrentIndexes ?? []);
    all.push(...(await db.transaction((transaction) => apply(transaction, migrations, next))));
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
  const exists = await db.schema.hasTable(MIGRATIONS_TABLE);
  return exists ? db(MIGRATIONS_TABLE).pluck<string[]>('name') : [];
}

/**
 * Rejects a database whose migrations are not those of this project up to some version. A newer one has all of this version
 * and more.
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

/** Applies a migration unless another process has done so since. @returns its name if it was applied. */
async function apply(
  transaction: Knex.Transaction,
  migrations: Record<string, Migration>,
  name: string,
): Promise<string[]> {
  await transaction.raw('SET LOCAL statement_timeout = 0');
  await transaction.raw('SELECT pg_advisory_xact_lock(?)', [ADVISORY_LOCK]);
  // All other queries would queue behind a migration that waits for a table lock, so it fails and can be run again.
  await transaction.raw(`SET LOCAL lock_timeout = '10s'`);
  if ((await findNext(transaction, migrations)) !== name) return [];
  // The advisory lock belongs to this transaction, so the migration has to run inside it.
  const [, applied] = (await transaction.migrate.up({
    migrationSource: toSource(migrations),
    tableName: MIGRATIONS_TABLE,
    disableTransactions: true,
  })) as [number, string[]];
  return applied;
}

function toSource(migrations: Record<string, Migration>): Knex.MigrationSource<string> {
  return {
    getMigrations: async () => Object.keys(migrations),
    getMigrationName: (name) => name,
    getMigration: async (name) => migrations[name] as Migration,
  };
}
