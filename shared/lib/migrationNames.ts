/**
 * Names of the migrations that this version needs, in order: each is a `.sql` file or a folder in `migrations`. The
 * name of a deployed migration never changes. The readiness check reads them, so they are not in `migrations`.
 */
export const MIGRATION_NAMES: readonly string[] = ['0001_baseline'];
