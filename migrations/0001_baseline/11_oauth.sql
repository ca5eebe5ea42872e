-- The authorization server: signing keys, clients, grants, codes and refresh tokens.

CREATE TABLE oauth_signing_keys (
  -- Consecutive: of several processes that create the next key at the same time, one succeeds.
  number       integer     PRIMARY KEY,
  kid          text        NOT NULL UNIQUE,
  private_key  text        NOT NULL,
  created_at   timestamptz NOT NULL,
  signs_from   timestamptz NOT NULL
);
COMMENT ON COLUMN oauth_signing_keys.signs_from IS
  'published since created_at; signs from here until signs_from of the next key';

CREATE TABLE oauth_clients (
  client_id              text        PRIMARY KEY,
  name                   text        NOT NULL,
  redirect_uris          text[]      NOT NULL,
  created_at             timestamptz NOT NULL,
  last_used_at           timestamptz,
  metadata_expires_at    timestamptz,
  approval_requested_at  timestamptz
);
COMMENT ON COLUMN oauth_clients.metadata_expires_at IS
  'when the cached Client ID Metadata Document expires; NULL for a registered client';
CREATE INDEX oauth_clients_unapproved_idx ON oauth_clients (created_at) WHERE last_used_at IS NULL;
CREATE INDEX oauth_clients_last_used_idx ON oauth_clients (last_used_at);

-- The consent of a user to a client: the family of all tokens issued from one approval.
CREATE TABLE oauth_grants (
  uuid          uuid        PRIMARY KEY,
  account_id    bigint      NOT NULL REFERENCES accounts (id),
  member_number integer     NOT NULL,
  client_id     text        NOT NULL REFERENCES oauth_clients (client_id),
  scopes        text[]      NOT NULL,
  resource      text        NOT NULL,
  redirect_uri  text        NOT NULL,
  created_at    timestamptz NOT NULL,
  connected_at  timestamptz,
  last_used_at  timestamptz,
  revoked_at    timestamptz,
  CONSTRAINT oauth_grants_member_fkey FOREIGN KEY (account_id, member_number) REFERENCES members
) WITH (fillfactor = 70);
COMMENT ON COLUMN oauth_grants.member_number IS 'the member who approved it, with whose role it acts';
COMMENT ON COLUMN oauth_grants.redirect_uri IS 'where the authorization code was sent';
COMMENT ON COLUMN oauth_grants.connected_at IS 'when the authorization code was exchanged';
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
  rotations    integer     NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
COMMENT ON COLUMN oauth_refresh_tokens.parent_hash IS
  'the token that was rotated into this one, possibly deleted since; NULL if issued for a code';
COMMENT ON COLUMN oauth_refresh_tokens.used_at IS 'when it was first rotated';
COMMENT ON COLUMN oauth_refresh_tokens.rotations IS 'number of tokens it was rotated into';
CREATE INDEX oauth_refresh_tokens_grant_uuid_idx ON oauth_refresh_tokens (grant_uuid);
CREATE INDEX oauth_refresh_tokens_parent_hash_idx ON oauth_refresh_tokens (parent_hash);
CREATE INDEX oauth_refresh_tokens_expires_at_idx ON oauth_refresh_tokens (expires_at);
