import type { Knex } from 'knex';
import type { ConcurrentIndex } from './concurrentIndexes.ts';

/** Finds the few subscriptions that are past due for too long, among all live ones. */
export const concurrentIndexes: ConcurrentIndex[] = [
  { name: 'subscriptions_past_due_since_idx', on: "subscriptions (past_due_since) WHERE status = 'past_due'" },
];

export async function up(): Promise<void> {}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX subscriptions_past_due_since_idx');
}
