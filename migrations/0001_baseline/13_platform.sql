-- Applied migrations, and the stored responses of requests that carry an Idempotency-Key.

CREATE TABLE migrations (
  name        text        PRIMARY KEY,
  applied_at  timestamptz NOT NULL
);
COMMENT ON TABLE migrations IS 'migrations that the release step has applied';

-- The key is stored as a hash, and the response is encrypted with the key itself: it may contain an API key, of which
-- only a hash may be stored.
CREATE TABLE idempotent_requests (
  account_id    bigint      NOT NULL REFERENCES accounts (id),
  scope         text        NOT NULL,
  key_hash      bytea       NOT NULL,
  id            uuid        NOT NULL,
  request_hash  bytea       NOT NULL,
  response      bytea,
  created_at    timestamptz NOT NULL,
  PRIMARY KEY (account_id, scope, key_hash)
);
CREATE INDEX idempotent_requests_created_at_idx ON idempotent_requests (created_at);
