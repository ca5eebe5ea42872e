import type { Knex } from 'knex';

/**
 * Stores the evidence that an upstream rejects our account and not one generation. The circuit of the upstream opens
 * after account errors of two generations without an accepted submit between them.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE upstream_health ADD COLUMN account_error_at timestamptz, ADD COLUMN accepted_at timestamptz;
    COMMENT ON COLUMN upstream_health.account_error_at IS
      'time of the last account error of a generation that had none before';
    COMMENT ON COLUMN upstream_health.accepted_at IS
      'time of the first submit that the upstream accepted after an account error; not kept up to date otherwise';

    ALTER TABLE generations ADD COLUMN account_error_at timestamptz;
    COMMENT ON COLUMN generations.account_error_at IS
      'first time at which an upstream rejected our account; if it accepts others afterwards, the generation is at fault';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE generations DROP COLUMN account_error_at;
    ALTER TABLE upstream_health DROP COLUMN accepted_at, DROP COLUMN account_error_at;
  `);
}
