import type { Knex } from 'knex';

/** What the payment processor knows of us, top-ups, its events, and requests that may be repeated. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- No process of the version that used it runs any more.
    DROP TABLE model_health;

    ALTER TABLE accounts
      ADD COLUMN stripe_customer_id            text        UNIQUE,
      -- Whether the processor has a payment method of theirs on file, when it was last asked.
      ADD COLUMN has_payment_method            boolean     NOT NULL DEFAULT false,
      ADD COLUMN auto_topup_enabled            boolean     NOT NULL DEFAULT false,
      ADD COLUMN auto_topup_amount_cents       integer     NOT NULL DEFAULT 5000 CHECK (auto_topup_amount_cents >= 5000),
      ADD COLUMN auto_topup_threshold_credits  integer     NOT NULL DEFAULT 0 CHECK (auto_topup_threshold_credits >= 0),
      -- The hour of an automatic top-up begins here, whatever came of it.
      ADD COLUMN auto_topup_claimed_at         timestamptz,
      ADD COLUMN auto_topup_declines           smallint    NOT NULL DEFAULT 0,
      -- Why automatic top-ups were switched off by us.
      ADD COLUMN auto_topup_problem            text;
    -- A charge changes neither of these, so that it still rewrites its row in place.
    CREATE INDEX accounts_period_end_idx ON accounts (period_end) WHERE plan_slug IS NOT NULL;
    CREATE INDEX accounts_auto_topup_idx ON accounts (id) WHERE auto_topup_enabled;

    ALTER TABLE subscriptions
      ADD COLUMN stripe_subscription_id  text         UNIQUE,
      ADD COLUMN paid_until              timestamptz,
      ADD COLUMN past_due_since          timestamptz,
      -- When its first month was granted.
      ADD COLUMN activated_at                timestamptz,
      ADD COLUMN is_disputed             boolean      NOT NULL DEFAULT false,
      ADD COLUMN sync_version             bigint       NOT NULL DEFAULT 0,
      ADD COLUMN synced_at               timestamptz;
    CREATE INDEX subscriptions_current_period_end_idx ON subscriptions (current_period_end) WHERE status IN ('active', 'past_due');
    CREATE INDEX subscriptions_synced_at_idx ON subscriptions (synced_at) WHERE stripe_subscription_id IS NOT NULL;
    UPDATE subscriptions SET paid_until = current_period_end, activated_at = started_at;
    ALTER TABLE subscriptions ALTER COLUMN paid_until SET NOT NULL;
    COMMENT ON COLUMN subscriptions.sync_version IS
      'the ticket of the last look at the processor that was applied; an older look changes nothing any more';

    CREATE TABLE topups (
      uuid                      uuid         PRIMARY KEY,
      account_id                bigint       NOT NULL REFERENCES accounts (id),
      kind                      text         NOT NULL CHECK (kind IN ('manual', 'automatic')),
      status                    text         NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed')),
      amount_cents              integer      NOT NULL CHECK (amount_cents BETWEEN 5000 AND 1000000),
      -- Fixed when the payment starts, at the rate of the plan then.
      credits                   integer      NOT NULL CHECK (credits > 0),
      stripe_session_id         text         UNIQUE,
      stripe_payment_intent_id  text         UNIQUE,
      failure                   text,
      -- What was taken back after a refund or a dispute, and how often that changed.
      credits_reversed        integer      NOT NULL DEFAULT 0 CHECK (credits_reversed BETWEEN 0 AND credits),
      reversal_count               integer      NOT NULL DEFAULT 0,
      sync_version               bigint       NOT NULL DEFAULT 0,
      created_at                timestamptz  NOT NULL,
      completed_at              timestamptz
    );
    CREATE INDEX topups_account_id_idx ON topups (account_id, created_at);
    CREATE UNIQUE INDEX topups_one_pending_automatic_per_account ON topups (account_id) WHERE kind = 'automatic' AND status = 'pending';
    CREATE INDEX topups_pending_idx ON topups (created_at) WHERE status = 'pending';

    CREATE TABLE payment_events (
      event_id     text         PRIMARY KEY,
      type         text         NOT NULL,
      object_id    text         NOT NULL,
      payload      text         NOT NULL,
      received_at  timestamptz  NOT NULL,
      processed_at   timestamptz,
      -- When it is tried again unless it has been applied by then.
      next_attempt_at       timestamptz  NOT NULL,
      attempts     integer      NOT NULL DEFAULT 0,
      problem      text
    );
    CREATE INDEX payment_events_pending_idx ON payment_events (next_attempt_at) WHERE processed_at IS NULL;

    -- Numbers looks at the processor in their order.
    CREATE SEQUENCE sync_versions;

    -- Answers to requests that came with an Idempotency-Key. The key is kept as a hash, and the answer encrypted with
    -- the key itself: it may hold an API key, of which no more than a hash is to be kept.
    CREATE TABLE idempotent_requests (
      account_id    bigint       NOT NULL REFERENCES accounts (id),
      scope         text         NOT NULL,
      key_hash      bytea        NOT NULL,
      id            uuid         NOT NULL,
      request_hash  bytea        NOT NULL,
      answer        bytea,
      created_at    timestamptz  NOT NULL,
      PRIMARY KEY (account_id, scope, key_hash)
    );
    CREATE INDEX idempotent_requests_created_at_idx ON idempotent_requests (created_at);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE model_health (
      model        text        PRIMARY KEY,
      status       text        NOT NULL CHECK (status IN ('online', 'degraded', 'offline')),
      consecutive_failures   integer     NOT NULL,
      consecutive_successes  integer     NOT NULL,
      probed_at    timestamptz NOT NULL,
      detail       text        NOT NULL
    ) WITH (fillfactor = 50);
    DROP TABLE idempotent_requests, payment_events, topups;
    DROP SEQUENCE sync_versions;
    ALTER TABLE subscriptions
      DROP COLUMN stripe_subscription_id, DROP COLUMN paid_until, DROP COLUMN past_due_since, DROP COLUMN activated_at, DROP COLUMN is_disputed,
      DROP COLUMN sync_version, DROP COLUMN synced_at;
    DROP INDEX IF EXISTS accounts_period_end_idx, accounts_auto_topup_idx, subscriptions_current_period_end_idx, subscriptions_synced_at_idx;
    ALTER TABLE accounts
      DROP COLUMN stripe_customer_id, DROP COLUMN has_payment_method, DROP COLUMN auto_topup_enabled,
      DROP COLUMN auto_topup_amount_cents, DROP COLUMN auto_topup_threshold_credits, DROP COLUMN auto_topup_claimed_at,
      DROP COLUMN auto_topup_declines, DROP COLUMN auto_topup_problem;
  `);
}
