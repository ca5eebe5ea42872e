import type { Knex } from 'knex';
import type { ConcurrentIndex } from './concurrentIndexes.ts';

/**
 * Index of the searches by metadata. The account is part of each indexed path, so a search reads entries of its account
 * only. Rows without metadata, which are most, are not in it.
 */
export const concurrentIndexes: ConcurrentIndex[] = [
  {
    name: 'generations_metadata_idx',
    on: `generations USING gin (jsonb_set('{}', ARRAY[account_id::text], metadata) jsonb_path_ops) WHERE metadata IS NOT NULL`,
  },
];

export async function up(): Promise<void> {}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX generations_metadata_idx');
}
