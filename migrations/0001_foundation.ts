import type { Knex } from 'knex';

/** Accounts and what signs them in, subscriptions, generations, and the ledger. */
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

      -- What the live subscription allows, kept here so that charging a generation reads one row. NULL: none.
      plan_slug        text,
      spendable_until      timestamptz,
      parallel_limit   integer     NOT NULL DEFAULT 0,

      -- The balance, in credits, and the two buckets that it is the sum of.
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

      -- Slots taken, and the numbers given out: lists page by number and never count rows.
      in_flight           integer  NOT NULL DEFAULT 0 CHECK (in_flight >= 0),
      generation_count    bigint   NOT NULL DEFAULT 0,
      generations_deleted bigint   NOT NULL DEFAULT 0,
      ledger_count        bigint   NOT NULL DEFAULT 0,
      key_count           integer  NOT NULL DEFAULT 0,
      active_key_count    integer  NOT NULL DEFAULT 0 CHECK (active_key_count >= 0),

      CONSTRAINT accounts_balance_check CHECK (balance = plan_credits + topup_credits)
      -- Every charge rewrites this row: half-filled pages, and no index on what a charge changes, keep that in place.
    ) WITH (fillfactor = 50);

    CREATE TABLE sessions (
      token_hash  bytea       PRIMARY KEY,
      uuid        uuid        NOT NULL UNIQUE,
      account_id  bigint      NOT NULL REFERENCES accounts (id),
      created_at  timestamptz NOT NULL,
      expires_at  timestamptz NOT NULL
    );
    CREATE INDEX sessions_account_id_idx ON sessions (account_id);
    CREATE INDEX sessions_expires_at_idx ON sessions (expires_at);

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

    CREATE TABLE subscriptions (
      id                    bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      uuid                  uuid        NOT NULL UNIQUE,
      account_id            bigint      NOT NULL REFERENCES accounts (id),
      plan_slug             text        NOT NULL,
      status                text        NOT NULL
        CHECK (status IN ('active', 'past_due', 'canceled', 'unpaid', 'incomplete')),
      processor             text        NOT NULL,
      started_at            timestamptz NOT NULL,
      current_period_end    timestamptz NOT NULL,
      cancel_at_period_end  boolean     NOT NULL DEFAULT false,
      created_at            timestamptz NOT NULL
    );
    -- At most one subscription an account that credits can be spent under.
    CREATE UNIQUE INDEX subscriptions_one_live_per_account ON subscriptions (account_id) WHERE status IN ('active', 'past_due');
    CREATE INDEX subscriptions_account_id_idx ON subscriptions (account_id, id);
  `);

  // No foreign keys on the tables that a charge writes: their account_id comes from the account row that the same
  // statement has just updated, and checking it again cost a quarter of the throughput.
  await knex.raw(`
    CREATE TABLE generations (
      uuid                  uuid        PRIMARY KEY,
      account_id            bigint      NOT NULL,
      number                bigint      NOT NULL,
      model                 text        NOT NULL,
      prompt                text        NOT NULL,
      params                jsonb       NOT NULL,
      status                text        NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'succeeded', 'failed')),
      credits_charged       integer     NOT NULL CHECK (credits_charged > 0),
      plan_credits_charged  integer     NOT NULL CHECK (plan_credits_charged BETWEEN 0 AND credits_charged),
      created_at            timestamptz NOT NULL,
      deadline_at           timestamptz NOT NULL,

      -- What settling it leaves. Paths are relative to CDN_URL.
      completed_at          timestamptz,
      output_path           text,
      thumbnail_path        text,
      is_watermarked        boolean     NOT NULL DEFAULT false,
      error_message         text,
      deleted_at            timestamptz,

      -- The workers' side. next_attempt_at: when the sweep rings again unless something has happened by then.
      next_attempt_at                timestamptz NOT NULL,
      leased_until          timestamptz,
      submit_started_at      timestamptz,
      unconfirmed_submits       smallint    NOT NULL DEFAULT 0,
      upstream_handle       jsonb,
      polled_at             timestamptz,
      next_poll_at          timestamptz,
      media_token           uuid,

      CONSTRAINT generations_completed_at_check CHECK ((status = 'queued') = (completed_at IS NULL)),
      CONSTRAINT generations_output_path_check CHECK ((status = 'succeeded') = (output_path IS NOT NULL))
    ) WITH (fillfactor = 80);
    CREATE UNIQUE INDEX generations_account_number_unique ON generations (account_id, number) WHERE deleted_at IS NULL;
    -- What is under way is few and found by its place in time; next_attempt_at is left out so that steps update in place.
    CREATE INDEX generations_queued_idx ON generations (uuid) WHERE status = 'queued';

    -- How many numbers in each block are of deleted generations, in blocks of 256^level: lets a page be found by
    -- its distance from the newest without reading what lies between.
    CREATE TABLE generation_deletion_counts (
      account_id  bigint   NOT NULL,
      level       smallint NOT NULL,
      block       bigint   NOT NULL,
      deleted     integer  NOT NULL,
      PRIMARY KEY (account_id, level, block)
    ) WITH (fillfactor = 80);

    CREATE TABLE ledger_entries (
      account_id       bigint      NOT NULL,
      number           bigint      NOT NULL,
      uuid             uuid        NOT NULL DEFAULT gen_random_uuid(),
      entry_type       text        NOT NULL
        CHECK (entry_type IN ('grant', 'burn', 'refund', 'rollover', 'expiry', 'topup')),
      amount           integer     NOT NULL,
      plan_amount      integer     NOT NULL,
      balance_after    integer     NOT NULL CHECK (balance_after >= 0),
      description      text        NOT NULL,
      generation_uuid  uuid,
      effect_key       text,
      created_at       timestamptz NOT NULL,
      PRIMARY KEY (account_id, number)
    );
    COMMENT ON COLUMN ledger_entries.plan_amount IS 'the part of amount that went into or out of the plan bucket';
    COMMENT ON COLUMN ledger_entries.effect_key IS 'names an effect that must happen once, other than those of a generation';
    CREATE UNIQUE INDEX ledger_entries_generation_entry_type_unique ON ledger_entries (generation_uuid, entry_type)
      WHERE generation_uuid IS NOT NULL;
    CREATE UNIQUE INDEX ledger_entries_effect_key_unique ON ledger_entries (effect_key) WHERE effect_key IS NOT NULL;

    CREATE FUNCTION reject_ledger_rewrite() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'ledger_entries is append-only: % refused', TG_OP;
      END
    $$;
    CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE ON ledger_entries
      FOR EACH ROW EXECUTE FUNCTION reject_ledger_rewrite();
    CREATE TRIGGER ledger_entries_no_truncate BEFORE TRUNCATE ON ledger_entries
      FOR EACH STATEMENT EXECUTE FUNCTION reject_ledger_rewrite();

    CREATE TABLE usage_days (
      account_id   bigint  NOT NULL,
      day          date    NOT NULL,
      model        text    NOT NULL,
      credits      bigint  NOT NULL,
      generations  integer NOT NULL,
      PRIMARY KEY (account_id, day, model)
    ) WITH (fillfactor = 70);

    -- The same since the account began, so that its totals cost no more as it grows old.
    CREATE TABLE usage_totals (
      account_id   bigint  NOT NULL,
      model        text    NOT NULL,
      credits      bigint  NOT NULL,
      generations  bigint  NOT NULL,
      PRIMARY KEY (account_id, model)
    ) WITH (fillfactor = 50);

    CREATE TABLE model_health (
      model        text        PRIMARY KEY,
      status       text        NOT NULL CHECK (status IN ('online', 'degraded', 'offline')),
      consecutive_failures   integer     NOT NULL,
      consecutive_successes  integer     NOT NULL,
      probed_at    timestamptz NOT NULL,
      detail       text        NOT NULL
    ) WITH (fillfactor = 50);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE model_health, usage_totals, usage_days, ledger_entries, generation_deletion_counts, generations, subscriptions, api_keys,
      sessions, accounts;
    DROP FUNCTION reject_ledger_rewrite;
  `);
}
