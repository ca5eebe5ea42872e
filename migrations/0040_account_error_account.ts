import type { Knex } from 'knex';

/** Stores whose generation had the last account error: the circuit opens after errors of two customers. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE upstream_health ADD COLUMN account_error_account_id bigint;
    COMMENT ON COLUMN upstream_health.account_error_account_id IS 'account of the generation of account_error_at';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE upstream_health DROP COLUMN account_error_account_id');
}
