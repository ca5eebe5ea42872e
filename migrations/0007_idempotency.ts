import type { Knex } from 'knex';

/** Creates the stored responses of requests that carry an Idempotency-Key. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The key is stored as a hash, and the response is encrypted with the key itself: it may contain an API key, of which
    -- only a hash may be stored.
    CREATE TABLE idempotent_requests (
      account_id    bigint       NOT NULL REFERENCES accounts (id),
      scope         text         NOT NULL,
      key_hash      bytea        NOT NULL,
      id            uuid         NOT NULL,
      request_hash  bytea        NOT NULL,
      response      bytea,
      created_at    timestamptz  NOT NULL,
      PRIMARY KEY (account_id, scope, key_hash)
    );
    CREATE INDEX idempotent_requests_created_at_idx ON idempotent_requests (created_at);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE idempotent_requests');
}
