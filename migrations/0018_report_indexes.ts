import type { Knex } from 'knex';
import type { ConcurrentIndex } from './concurrentIndexes.ts';

/** Indexes by time, so that a report reads the rows of its range only. */
export const concurrentIndexes: ConcurrentIndex[] = [
  { name: 'subscriptions_ended_at_idx', on: 'subscriptions (ended_at) WHERE ended_at IS NOT NULL' },
  { name: 'referrals_created_at_idx', on: 'referrals (created_at)' },
  { name: 'commissions_paid_at_idx', on: 'commissions (paid_at)' },
];

export async function up(): Promise<void> {}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX subscriptions_ended_at_idx, referrals_created_at_idx, commissions_paid_at_idx');
}
