import type { Knex } from 'knex';
import type { ConcurrentIndex } from './concurrentIndexes.ts';

/**
 * Indexes of filtered lists. A combination of values is one range of the index, ordered by time, and the number makes it
 * covering: matches are counted without reading rows. `generations.status` is in the condition of another index, so a
 * change of it was no update in place before.
 */
export const concurrentIndexes: ConcurrentIndex[] = [
  {
    name: 'generations_filter_idx',
    on: 'generations (account_id, status, model, created_at, number) WHERE deleted_at IS NULL',
  },
  { name: 'ledger_entries_filter_idx', on: 'ledger_entries (account_id, entry_type, created_at, number)' },
];

export async function up(): Promise<void> {}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX generations_filter_idx, ledger_entries_filter_idx');
}
