import type { Knex } from 'knex';
import type { ConcurrentIndex } from './concurrentIndexes.ts';

/** An account has at most one test account; test generations are few, and are found by age to be deleted. */
export const concurrentIndexes: ConcurrentIndex[] = [
  {
    name: 'accounts_live_account_unique',
    on: 'accounts (live_account_id) WHERE live_account_id IS NOT NULL',
    unique: true,
  },
  { name: 'generations_test_idx', on: 'generations (uuid) WHERE is_test AND deleted_at IS NULL' },
];

export async function up(): Promise<void> {}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX accounts_live_account_unique, generations_test_idx');
}
