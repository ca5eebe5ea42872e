import type { Knex } from 'knex';

/**
 * Which generations count as used in the current credit period: those after a number, not after a moment. Between the
 * end of a month and its turn credits of the old month are spent, and count for that; a refund of them after the turn
 * was taken off the new month, which then could fall below zero.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE accounts ADD COLUMN generation_count_at_period_start bigint NOT NULL DEFAULT 0;
    COMMENT ON COLUMN accounts.generation_count_at_period_start IS 'the number of the last generation that was created before the period';
    UPDATE accounts a
       SET generation_count_at_period_start = before.number
      FROM (SELECT g.account_id, max(g.number) AS number
              FROM generations g JOIN accounts o ON o.id = g.account_id AND g.created_at < o.period_start
             GROUP BY g.account_id) before
     WHERE before.account_id = a.id;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE accounts DROP COLUMN generation_count_at_period_start');
}
