import type { Knex } from 'knex';
import type { ConcurrentIndex } from './concurrentIndexes.ts';

/** Index for the usage of an application. Generations of keys and sessions, which are most, are not in it. */
export const concurrentIndexes: ConcurrentIndex[] = [
  {
    name: 'generations_oauth_client_idx',
    on: 'generations (account_id, oauth_client_id, number) WHERE oauth_client_id IS NOT NULL',
  },
];

export async function up(): Promise<void> {}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX generations_oauth_client_idx');
}
