import type { Knex } from 'knex';

/** Counts the changes of an account's API keys, so that a charge that waited for the account sees that there was one. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE accounts ADD COLUMN key_change_count integer NOT NULL DEFAULT 0;
    COMMENT ON COLUMN accounts.key_change_count IS
      'changes and revocations of its API keys since this column exists; a charge reads the keys again if it differs';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE accounts DROP COLUMN key_change_count');
}
