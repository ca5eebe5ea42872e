import type { Knex } from 'knex';

/** Counts the generations that their owners canceled apart from failures. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE generation_hours ADD COLUMN canceled bigint NOT NULL DEFAULT 0;
    COMMENT ON COLUMN generation_hours.canceled IS 'canceled by their owners and refunded; not in failed';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE generation_hours DROP COLUMN canceled');
}
