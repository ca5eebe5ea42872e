import type { Knex } from 'knex';

/** The authorization server: its keys, its clients, and what people have allowed them. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE oauth_signing_keys (
      -- 1, 2, ...: of processes that make the same one at the same time, one does.
      number       integer     PRIMARY KEY,
      kid          text        NOT NULL UNIQUE,
      private_key  text        NOT NULL,
      created_at   timestamptz NOT NULL,
      signs_from   timestamptz NOT NULL
    );
    COMMENT ON COLUMN oauth_signing_keys.signs_from IS
      'published since it was created; signs from here on until the next key does';

    CREATE TABLE oauth_clients (
      client_id      text        PRIMARY KEY,
      name           text        NOT NULL,
      redirect_uris  text[]      NOT NULL,
      created_at     timestamptz NOT NULL,
      last_used_at   timestamptz,
      metadata_expires_at    timestamptz
    );
    COMMENT ON COLUMN oauth_clients.metadata_expires_at IS
      'of a Client ID Metadata Document: until when this copy of it will do; null for a client that registered';
    CREATE INDEX oauth_clients_last_used_idx ON oauth_clients (coalesce(last_used_at, created_at));

    -- What a person has allowed a client: the family of all tokens that came of one approval.
    CREATE TABLE oauth_grants (
      uuid          uuid        PRIMARY KEY,
      account_id    bigint      NOT NULL REFERENCES accounts (id),
      client_id     text        NOT NULL REFERENCES oauth_clients (client_id),
      scopes        text[]      NOT NULL,
      resource      text        NOT NULL,
      created_at    timestamptz NOT NULL,
      connected_at  timestamptz,
      last_used_at  timestamptz,
      revoked_at    timestamptz
    ) WITH (fillfactor = 70);
    COMMENT ON COLUMN oauth_grants.connected_at IS 'when its code was exchanged';
    CREATE INDEX oauth_grants_account_id_idx ON oauth_grants (account_id);
    CREATE INDEX oauth_grants_client_id_idx ON oauth_grants (client_id);

    CREATE TABLE oauth_codes (
      code_hash       bytea       PRIMARY KEY,
      grant_uuid      uuid        NOT NULL REFERENCES oauth_grants (uuid) ON DELETE CASCADE,
      redirect_uri    text        NOT NULL,
      code_challenge  text        NOT NULL CHECK (length(code_challenge) = 43),
      expires_at      timestamptz NOT NULL,
      used_at         timestamptz
    ) WITH (fillfactor = 70);
    CREATE INDEX oauth_codes_grant_uuid_idx ON oauth_codes (grant_uuid);
    CREATE INDEX oauth_codes_expires_at_idx ON oauth_codes (expires_at);

    CREATE TABLE oauth_refresh_tokens (
      token_hash   bytea       PRIMARY KEY,
      grant_uuid   uuid        NOT NULL REFERENCES oauth_grants (uuid) ON DELETE CASCADE,
      parent_hash  bytea,
      expires_at   timestamptz NOT NULL,
      used_at      timestamptz,
      rotations   integer     NOT NULL DEFAULT 0
    ) WITH (fillfactor = 70);
    COMMENT ON COLUMN oauth_refresh_tokens.parent_hash IS
      'the token that it was exchanged for, which may be forgotten by now; null where it came of a code';
    COMMENT ON COLUMN oauth_refresh_tokens.used_at IS 'when it was first exchanged for new ones';
    COMMENT ON COLUMN oauth_refresh_tokens.rotations IS 'how many it was exchanged for';
    CREATE INDEX oauth_refresh_tokens_grant_uuid_idx ON oauth_refresh_tokens (grant_uuid);
    CREATE INDEX oauth_refresh_tokens_parent_hash_idx ON oauth_refresh_tokens (parent_hash);
    CREATE INDEX oauth_refresh_tokens_expires_at_idx ON oauth_refresh_tokens (expires_at);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE oauth_refresh_tokens, oauth_codes, oauth_grants, oauth_clients, oauth_signing_keys');
}
