import type { Knex } from 'knex';

/** Adds the scope without which an API key that has any option reaches no billing, webhooks or other keys. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE api_keys
      DROP CONSTRAINT api_keys_scopes_check,
      ADD CONSTRAINT api_keys_scopes_check
        CHECK (scopes <@ ARRAY['svc:read', 'svc:write', 'account'] AND cardinality(scopes) > 0) NOT VALID;
    COMMENT ON COLUMN api_keys.scopes IS
      'NULL: the whole account for a key without options, svc:read and svc:write for one with another option';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE api_keys
      DROP CONSTRAINT api_keys_scopes_check,
      ADD CONSTRAINT api_keys_scopes_check
        CHECK (scopes <@ ARRAY['svc:read', 'svc:write'] AND cardinality(scopes) > 0) NOT VALID;
    COMMENT ON COLUMN api_keys.scopes IS 'NULL: the whole account';
  `);
}
