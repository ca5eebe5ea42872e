import type { Knex } from 'knex';
import type { ConcurrentIndex } from './concurrentIndexes.ts';

/** Finds keys that have expired and are not revoked yet. */
export const concurrentIndexes: ConcurrentIndex[] = [
  {
    name: 'api_keys_expires_at_idx',
    on: 'api_keys (expires_at) WHERE revoked_at IS NULL AND expires_at IS NOT NULL',
  },
];

export async function up(): Promise<void> {}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX api_keys_expires_at_idx');
}
