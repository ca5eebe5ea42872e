import type { Knex } from 'knex';

/** Stores whose generation had the account error since the last accepted submit: see `circuit.ts`. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE upstream_health ADD COLUMN account_error_account_id bigint;
    COMMENT ON COLUMN upstream_health.account_error_account_id IS 'account of the generation of account_error_at';
    COMMENT ON COLUMN upstream_health.account_error_at IS
      'time of the first account error since the last accepted submit';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE upstream_health DROP COLUMN account_error_account_id;
    COMMENT ON COLUMN upstream_health.account_error_at IS
      'time of the last account error of a generation that had none before';
  `);
}
