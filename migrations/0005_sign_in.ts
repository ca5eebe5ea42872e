import type { Knex } from 'knex';

/** Whom the sign-in providers know, sign-ins under way, and what a person sees of their sessions. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE identities (
      provider    text        NOT NULL CHECK (provider IN ('google', 'apple', 'github')),
      -- Which one of its kind: another one's subjects are other people.
      issuer      text        NOT NULL,
      -- Whom the provider means, for good: addresses may pass to somebody else, this never does.
      subject     text        NOT NULL,
      account_id  bigint      NOT NULL REFERENCES accounts (id),
      -- The verified address that it was linked by.
      email       text        NOT NULL,
      created_at  timestamptz NOT NULL,
      PRIMARY KEY (provider, issuer, subject),
      -- A second one of the same provider is somebody who was given the address later.
      CONSTRAINT identities_account_provider_key UNIQUE (account_id, provider, issuer)
    );

    CREATE TABLE sign_in_attempts (
      state_hash    bytea       PRIMARY KEY,
      -- Of the cookie of the browser that began it: no other one can end it.
      browser_hash  bytea       NOT NULL,
      provider      text        NOT NULL,
      verifier      text        NOT NULL,
      nonce         text        NOT NULL,
      return_to     text        NOT NULL,
      expires_at    timestamptz NOT NULL
    );
    CREATE INDEX sign_in_attempts_expires_at_idx ON sign_in_attempts (expires_at);

    ALTER TABLE sessions
      ADD COLUMN user_agent    text        NOT NULL DEFAULT '',
      ADD COLUMN last_used_at  timestamptz;
    UPDATE sessions SET last_used_at = created_at;
    -- A process of the version before may still open some, until it ends.
    ALTER TABLE sessions ALTER COLUMN last_used_at SET DEFAULT now(), ALTER COLUMN last_used_at SET NOT NULL;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE sign_in_attempts, identities;
    ALTER TABLE sessions DROP COLUMN user_agent, DROP COLUMN last_used_at;
  `);
}
