/**
 * The migrations that this version needs, in order; a name, once released, never changes. Here rather than beside them
 * for the readiness answer, which looks whether they were applied; `migrations/migrate.ts` does not compile without each.
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

/** Where it is written down which of them were applied. */
export const MIGRATIONS_TABLE = 'migrations';
