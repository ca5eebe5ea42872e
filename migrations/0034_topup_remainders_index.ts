import type { Knex } from 'knex';
import type { ConcurrentIndex } from './concurrentIndexes.ts';

/** Finds the few top-ups that owe credits. Each refund of a generation looks for those of its account. */
export const concurrentIndexes: ConcurrentIndex[] = [
  { name: 'topups_owed_idx', on: 'topups (account_id) WHERE credits_owed > 0' },
];

export async function up(): Promise<void> {}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX topups_owed_idx');
}
