import type { Knex } from 'knex';

/** Adds the options that restrict an API key. A key without any has all rights of its account. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE api_keys
      ADD COLUMN scopes         text[],
      ADD COLUMN expires_at     timestamptz,
      ADD COLUMN allowed_models text[],
      ADD COLUMN allowed_ips    cidr[],
      ADD COLUMN version        integer NOT NULL DEFAULT 0,
      ADD CONSTRAINT api_keys_scopes_check
        CHECK (scopes <@ ARRAY['svc:read', 'svc:write'] AND cardinality(scopes) > 0) NOT VALID,
      ADD CONSTRAINT api_keys_allowed_models_check CHECK (cardinality(allowed_models) > 0) NOT VALID,
      ADD CONSTRAINT api_keys_allowed_ips_check CHECK (cardinality(allowed_ips) > 0) NOT VALID;
    COMMENT ON COLUMN api_keys.scopes IS 'NULL: the whole account';
    COMMENT ON COLUMN api_keys.expires_at IS 'NULL: never';
    COMMENT ON COLUMN api_keys.allowed_models IS 'slugs of the models that the key may use; NULL: all';
    COMMENT ON COLUMN api_keys.allowed_ips IS 'networks from which the key may be used; NULL: all';
    COMMENT ON COLUMN api_keys.version IS
      'number of changes of the options; statements reject a request whose process has read earlier ones';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE api_keys
      DROP COLUMN scopes, DROP COLUMN expires_at, DROP COLUMN allowed_models, DROP COLUMN allowed_ips,
      DROP COLUMN version
  `);
}
