import type { Knex } from 'knex';

/** When the invoice of a commission was last looked at: what was looked at just now is not asked for again. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE commissions ADD COLUMN looked_at timestamptz, ADD COLUMN failing_since timestamptz;
    COMMENT ON COLUMN commissions.failing_since IS 'since when its invoice cannot be looked at, where the last look failed';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE commissions DROP COLUMN looked_at, DROP COLUMN failing_since');
}
