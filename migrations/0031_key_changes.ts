import type { Knex } from 'knex';

/**
 * Counts the changes of an account's API keys and the ends of its sessions, so that a charge that waited for the account
 * sees that there was one.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE accounts ADD COLUMN key_change_count integer NOT NULL DEFAULT 0;
    COMMENT ON COLUMN accounts.key_change_count IS
      'changes of its API keys, and ends of sessions, since this column exists; a charge reads both again if it differs';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE accounts DROP COLUMN key_change_count');
}
