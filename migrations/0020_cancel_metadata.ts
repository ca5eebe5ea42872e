import type { Knex } from 'knex';

/** Adds the request to cancel a generation, and the metadata of its owner. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE generations
      ADD COLUMN cancel_requested_at timestamptz,
      ADD COLUMN metadata            jsonb;
    COMMENT ON COLUMN generations.cancel_requested_at IS
      'when its owner first asked to cancel it; it may still succeed if the upstream had started it';
    COMMENT ON COLUMN generations.metadata IS 'pairs of strings that the owner has attached; NULL: none';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE generations DROP COLUMN metadata, DROP COLUMN cancel_requested_at');
}
