import type { Knex } from 'knex';

/** Sign-in methods that can be linked and removed, staff rights that belong to them, and where a grant was sent. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE accounts ADD COLUMN staff_since timestamptz, ADD COLUMN erased_at timestamptz;
    COMMENT ON COLUMN accounts.staff_since IS
      'first sign-in with the address on the staff list; identities linked later get no staff rights';

    ALTER TABLE identities
      ADD COLUMN uuid         uuid        NOT NULL UNIQUE DEFAULT gen_random_uuid(),
      ADD COLUMN staff_since  timestamptz;
    COMMENT ON COLUMN identities.staff_since IS 'sessions that this identity opens have staff rights; null: they have not';

    -- NULL: the local sign-in, a session from before this column, or an identity that was removed.
    ALTER TABLE sessions ADD COLUMN identity_uuid uuid REFERENCES identities (uuid) ON DELETE SET NULL;
    CREATE INDEX sessions_identity_uuid_idx ON sessions (identity_uuid) WHERE identity_uuid IS NOT NULL;

    ALTER TABLE sign_in_attempts ADD COLUMN linking_session_hash bytea;
    COMMENT ON COLUMN sign_in_attempts.linking_session_hash IS
      'session whose account the identity is to be linked to; null for a plain sign-in';

    ALTER TABLE generations ADD COLUMN purged_at timestamptz;
    COMMENT ON COLUMN generations.purged_at IS 'prompt, params and error_message were emptied, some time after the deletion';
    CREATE INDEX generations_purge_idx ON generations (deleted_at) WHERE deleted_at IS NOT NULL AND purged_at IS NULL;

    ALTER TABLE oauth_clients ADD COLUMN approval_requested_at timestamptz;

    ALTER TABLE oauth_grants ADD COLUMN redirect_uri text;
    COMMENT ON COLUMN oauth_grants.redirect_uri IS 'where the code was sent; null for grants from before this column';
    UPDATE oauth_grants g SET redirect_uri = c.redirect_uri FROM oauth_codes c WHERE c.grant_uuid = g.uuid;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE oauth_grants DROP COLUMN redirect_uri;
    ALTER TABLE oauth_clients DROP COLUMN approval_requested_at;
    DROP INDEX generations_purge_idx;
    ALTER TABLE generations DROP COLUMN purged_at;
    ALTER TABLE sign_in_attempts DROP COLUMN linking_session_hash;
    ALTER TABLE sessions DROP COLUMN identity_uuid;
    ALTER TABLE identities DROP COLUMN uuid, DROP COLUMN staff_since;
    ALTER TABLE accounts DROP COLUMN staff_since, DROP COLUMN erased_at;
  `);
}
