/**
 * The migrations that this version needs, in order. A released name never changes. The list is here because the
 * readiness check needs it; `migrations/migrate.ts` does not compile unless it has each of them.
 */
export const MIGRATION_NAMES = [
  '0001_foundation',
  '0002_upstreams',
  '0003_billing',
  '0004_subscription_of_account',
  '0005_sign_in',
  '0006_oauth',
  '0007_affiliates',
  '0008_staff_metrics',
  '0009_used_this_period',
  '0010_looks_at_invoices',
  '0011_auto_topup_triggers',
  '0012_owed_refunds',
  '0014_identities_and_grants',
] as const;

export type MigrationName = (typeof MIGRATION_NAMES)[number];

/** Table that lists the applied migrations. */
export const MIGRATIONS_TABLE = 'migrations';
