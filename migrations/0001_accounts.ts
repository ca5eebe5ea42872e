import type { Knex } from 'knex';

/** Creates accounts with everything that authenticates them: identities, sessions, sign-in attempts and API keys. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE accounts (
      id               bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      uuid             uuid        NOT NULL UNIQUE,
      email            text        NOT NULL UNIQUE CHECK (email = lower(email)),
      first_name       text        NOT NULL DEFAULT '',
      language         text        NOT NULL DEFAULT 'en',
      use_case         text        NOT NULL DEFAULT '',
      social_provider  text        NOT NULL,
      onboarding_step  text        NOT NULL DEFAULT 'profile' CHECK (onboarding_step IN ('profile', 'plan', 'complete')),
      created_at       timestamptz NOT NULL,
      staff_since      timestamptz,
      is_affiliate     boolean     NOT NULL DEFAULT false,
      erased_at        timestamptz,

      -- The entitlement of the current subscription, copied here so that a charge reads one row. NULL: no plan.
      subscription_id  bigint,
      plan_slug        text,
      spendable_until  timestamptz,
      parallel_limit   integer     NOT NULL DEFAULT 0,

      -- The balance in credits, and the two buckets that add up to it.
      balance          integer     NOT NULL DEFAULT 0,
      plan_credits     integer     NOT NULL DEFAULT 0 CHECK (plan_credits >= 0),
      topup_credits    integer     NOT NULL DEFAULT 0 CHECK (topup_credits >= 0),

      -- The current monthly credit period.
      period_index     integer     NOT NULL DEFAULT 0,
      period_start     timestamptz,
      period_end       timestamptz,
      period_granted   integer     NOT NULL DEFAULT 0,
      period_rollover  integer     NOT NULL DEFAULT 0,
      period_used      integer     NOT NULL DEFAULT 0,
      generation_count_at_period_start bigint NOT NULL DEFAULT 0,

      -- Slots in use, and the last numbers assigned: lists page by number and never count rows.
      in_flight           integer  NOT NULL DEFAULT 0 CHECK (in_flight >= 0),
      generation_count    bigint   NOT NULL DEFAULT 0,
      generations_deleted bigint   NOT NULL DEFAULT 0,
      ledger_count        bigint   NOT NULL DEFAULT 0,
      key_count           integer  NOT NULL DEFAULT 0,
      active_key_count    integer  NOT NULL DEFAULT 0 CHECK (active_key_count >= 0),

      stripe_customer_id            text        UNIQUE,
      has_payment_method            boolean     NOT NULL DEFAULT false,
      auto_topup_enabled            boolean     NOT NULL DEFAULT false,
      auto_topup_amount_cents       integer     NOT NULL DEFAULT 5000 CHECK (auto_topup_amount_cents >= 5000),
      auto_topup_threshold_credits  integer     NOT NULL DEFAULT 0 CHECK (auto_topup_threshold_credits >= 0),
      auto_topup_claimed_at         timestamptz,
      auto_topup_declines           smallint    NOT NULL DEFAULT 0,
      auto_topup_problem            text,
      auto_topup_triggered_at       timestamptz,

      CONSTRAINT accounts_balance_check CHECK (balance = plan_credits + topup_credits)
      -- Every charge rewrites this row. Half-filled pages keep that update in place; do not index columns it changes.
    ) WITH (fillfactor = 50);
    COMMENT ON COLUMN accounts.staff_since IS
      'first sign-in with an address on the staff list; identities linked later get no staff rights';
    COMMENT ON COLUMN accounts.subscription_id IS
      'the subscription that grants the plan credits; other subscriptions of the account do not affect it';
    COMMENT ON COLUMN accounts.generation_count_at_period_start IS
      'generation_count when the period started; later generations count as used in this period';
    COMMENT ON COLUMN accounts.has_payment_method IS
      'whether the payment processor had a payment method on file at the last sync';
    COMMENT ON COLUMN accounts.auto_topup_claimed_at IS
      'start of the minimum interval between automatic top-ups, whatever their result';
    COMMENT ON COLUMN accounts.auto_topup_problem IS 'why the service switched automatic top-ups off';
    -- Not indexed, so that a charge still rewrites its row in place.
    COMMENT ON COLUMN accounts.auto_topup_triggered_at IS
      'when a burn left the balance below the threshold; NULL once an automatic top-up is claimed or the balance recovers';
    CREATE INDEX accounts_period_end_idx ON accounts (period_end) WHERE plan_slug IS NOT NULL;
    CREATE INDEX accounts_auto_topup_idx ON accounts (id) WHERE auto_topup_enabled;

    CREATE TABLE identities (
      provider     text        NOT NULL CHECK (provider IN ('google', 'apple', 'github')),
      -- Subjects are unique within an issuer only.
      issuer       text        NOT NULL,
      -- Permanent identifier of the user at the issuer. Addresses may be reassigned; subjects never are.
      subject      text        NOT NULL,
      account_id   bigint      NOT NULL REFERENCES accounts (id),
      -- The verified address at the time of linking.
      email        text        NOT NULL,
      created_at   timestamptz NOT NULL,
      uuid         uuid        NOT NULL UNIQUE,
      staff_since  timestamptz,
      PRIMARY KEY (provider, issuer, subject),
      -- A second identity of the same provider belongs to a later owner of the address.
      CONSTRAINT identities_account_provider_key UNIQUE (account_id, provider, issuer)
    );
    COMMENT ON COLUMN identities.staff_since IS 'sessions that this identity opens have staff rights; NULL: no staff rights';

    CREATE TABLE sessions (
      token_hash     bytea       PRIMARY KEY,
      uuid           uuid        NOT NULL UNIQUE,
      account_id     bigint      NOT NULL REFERENCES accounts (id),
      created_at     timestamptz NOT NULL,
      expires_at     timestamptz NOT NULL,
      user_agent     text        NOT NULL DEFAULT '',
      last_used_at   timestamptz NOT NULL,
      identity_uuid  uuid        REFERENCES identities (uuid) ON DELETE SET NULL
    );
    COMMENT ON COLUMN sessions.identity_uuid IS 'NULL: signed in with the development sign-in, or the identity was removed';
    CREATE INDEX sessions_account_id_idx ON sessions (account_id);
    CREATE INDEX sessions_expires_at_idx ON sessions (expires_at);
    CREATE INDEX sessions_identity_uuid_idx ON sessions (identity_uuid) WHERE identity_uuid IS NOT NULL;

    CREATE TABLE sign_in_attempts (
      state_hash     bytea       PRIMARY KEY,
      -- Hash of the cookie of the browser that started the attempt. Only that browser can complete it.
      browser_hash   bytea       NOT NULL,
      provider       text        NOT NULL,
      code_verifier  text        NOT NULL,
      nonce          text        NOT NULL,
      return_to      text        NOT NULL,
      expires_at     timestamptz NOT NULL,
      -- The referral link of the browser. Some providers' callbacks arrive without its cookie.
      referral_code                  text,
      referral_clicked_at            timestamptz,
      referral_signed_in_account_id  bigint,
      linking_session_hash           bytea
    );
    COMMENT ON COLUMN sign_in_attempts.linking_session_hash IS
      'session whose account the identity is to be linked to; NULL for a plain sign-in';
    CREATE INDEX sign_in_attempts_expires_at_idx ON sign_in_attempts (expires_at);

    CREATE TABLE api_keys (
      key_hash      bytea       PRIMARY KEY,
      uuid          uuid        NOT NULL UNIQUE,
      account_id    bigint      NOT NULL REFERENCES accounts (id),
      number        integer     NOT NULL,
      name          text        NOT NULL,
      prefix        text        NOT NULL,
      last_used_at  timestamptz,
      revoked_at    timestamptz,
      created_at    timestamptz NOT NULL,
      UNIQUE (account_id, number)
    ) WITH (fillfactor = 80);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE api_keys, sign_in_attempts, sessions, identities, accounts');
}
