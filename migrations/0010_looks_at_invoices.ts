import type { Knex } from 'knex';

/** When the invoice of a commission was last looked at: what was looked at just now is not asked for again. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE commissions ADD COLUMN synced_at timestamptz, ADD COLUMN sync_failing_since timestamptz;
    COMMENT ON COLUMN commissions.sync_failing_since IS 'since when its invoice cannot be looked at, where the last look failed';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE commissions DROP COLUMN synced_at, DROP COLUMN sync_failing_since');
}
