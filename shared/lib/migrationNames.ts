/**
 * Names of the migrations that this version needs, in order; the name of a deployed migration never changes. The
 * readiness check reads them, so they are not in `migrations/`; `migrations/migrate.ts` does not compile unless it has
 * a migration for each.
 */
export const MIGRATION_NAMES = [
  '0001_accounts',
  '0002_subscriptions',
  '0003_ledger',
  '0004_generations',
  '0005_upstreams',
  '0006_payments',
  '0007_idempotency',
  '0008_affiliates',
  '0009_oauth',
  '0010_metrics',
  '0011_staff_actions',
  '0012_privacy',
  '0013_usage_keys',
  '0014_list_filters',
  '0015_invoices',
  '0016_staff_console',
  '0017_reports',
  '0018_report_indexes',
  '0019_notifications',
  '0020_cancel_metadata',
  '0020_metadata_index',
  '0021_catalog',
  '0022_catalog_plans',
  '0023_uploads',
  '0024_spending_limits',
  '0024_spending_limits_index',
  '0025_key_options',
  '0025_key_expiry_index',
  '0026_test_accounts',
  '0026_test_accounts_index',
  '0029_canceled_hours',
  '0030_generation_fillfactor',
  '0032_past_due_index',
  '0033_plan_history',
  '0034_topup_remainders',
  '0034_topup_remainders_index',
  '0035_auto_topup_need',
  '0036_account_errors',
  '0037_account_scope',
  '0038_enabled_since',
  '0039_staff_approvals',
  '0040_account_error_account',
] as const;

export type MigrationName = (typeof MIGRATION_NAMES)[number];

/** Table that records the applied migrations. */
export const MIGRATIONS_TABLE = 'migrations';
