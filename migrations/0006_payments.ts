import type { Knex } from 'knex';

/** Creates top-ups, payment events, owed refunds, and the state of the sync with the payment processor. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Orders the snapshots that are read from the payment processor.
    CREATE SEQUENCE sync_versions;

    CREATE TABLE topups (
      uuid                      uuid         PRIMARY KEY,
      account_id                bigint       NOT NULL REFERENCES accounts (id),
      kind                      text         NOT NULL CHECK (kind IN ('manual', 'automatic')),
      status                    text         NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed')),
      amount_cents              integer      NOT NULL CHECK (amount_cents BETWEEN 5000 AND 1000000),
      credits                   integer      NOT NULL CHECK (credits > 0),
      stripe_session_id         text         UNIQUE,
      stripe_payment_intent_id  text         UNIQUE,
      failure_code              text,
      credits_reversed          integer      NOT NULL DEFAULT 0 CHECK (credits_reversed BETWEEN 0 AND credits),
      reversal_count            integer      NOT NULL DEFAULT 0,
      reversed_cents            integer      NOT NULL DEFAULT 0 CHECK (reversed_cents BETWEEN 0 AND amount_cents),
      is_disputed               boolean      NOT NULL DEFAULT false,
      sync_version              bigint       NOT NULL DEFAULT 0,
      next_attempt_at           timestamptz  NOT NULL,
      created_at                timestamptz  NOT NULL,
      completed_at              timestamptz
    );
    COMMENT ON COLUMN topups.credits IS 'fixed when the payment starts, at the rate of the plan at that time';
    COMMENT ON COLUMN topups.credits_reversed IS 'credits taken back after refunds and disputes, in reversal_count entries';
    COMMENT ON COLUMN topups.reversed_cents IS
      'money refunded or disputed; fewer credits are taken back when the balance does not cover it';
    COMMENT ON COLUMN topups.is_disputed IS 'whether the payment was disputed at the last sync';
    COMMENT ON COLUMN topups.next_attempt_at IS 'when a pending top-up is synced next';
    CREATE INDEX topups_account_id_idx ON topups (account_id, created_at);
    CREATE UNIQUE INDEX topups_one_pending_automatic_per_account ON topups (account_id)
      WHERE kind = 'automatic' AND status = 'pending';
    CREATE INDEX topups_pending_idx ON topups (kind, next_attempt_at) WHERE status = 'pending';

    CREATE TABLE payment_events (
      event_id         text         PRIMARY KEY,
      type             text         NOT NULL,
      object_id        text         NOT NULL,
      payload          text         NOT NULL,
      received_at      timestamptz  NOT NULL,
      processed_at     timestamptz,
      next_attempt_at  timestamptz  NOT NULL,
      attempts         integer      NOT NULL DEFAULT 0,
      last_error       text,
      abandoned_at     timestamptz
    );
    COMMENT ON COLUMN payment_events.abandoned_at IS 'when processing was given up, after three days of failed attempts';
    CREATE INDEX payment_events_pending_idx ON payment_events (next_attempt_at)
      WHERE processed_at IS NULL AND abandoned_at IS NULL;
    CREATE INDEX payment_events_abandoned_idx ON payment_events (abandoned_at) WHERE abandoned_at IS NOT NULL;
    CREATE INDEX payment_events_prune_idx ON payment_events (received_at)
      WHERE processed_at IS NOT NULL OR abandoned_at IS NOT NULL;

    -- One row per invoice: a refund returns all of its payments.
    CREATE TABLE owed_refunds (
      invoice_id       text         PRIMARY KEY,
      subscription_id  bigint       NOT NULL REFERENCES subscriptions (id),
      account_id       bigint       NOT NULL REFERENCES accounts (id),
      status           text         NOT NULL DEFAULT 'owed' CHECK (status IN ('owed', 'refunded', 'rejected')),
      attempts         integer      NOT NULL DEFAULT 0,
      last_error       text,
      next_attempt_at  timestamptz  NOT NULL,
      created_at       timestamptz  NOT NULL,
      completed_at     timestamptz,
      CHECK ((status = 'owed') = (completed_at IS NULL))
    );
    CREATE INDEX owed_refunds_next_attempt_idx ON owed_refunds (next_attempt_at) WHERE status = 'owed';
    CREATE INDEX owed_refunds_rejected_idx ON owed_refunds (completed_at) WHERE status = 'rejected';

    -- The time up to which each subject has been reconciled with the payment processor.
    CREATE TABLE sync_cursors (
      subject         text         PRIMARY KEY,
      synced_through  timestamptz  NOT NULL
    );

    -- Clears a recorded trigger of an automatic top-up once its condition no longer holds. A database trigger covers every
    -- statement that posts credits: a statement that omitted the check would charge a card without a burn.
    CREATE FUNCTION clear_auto_topup_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.auto_topup_triggered_at := NULL;
      RETURN NEW;
    END $$;
    CREATE TRIGGER accounts_clear_auto_topup_trigger BEFORE UPDATE ON accounts
      FOR EACH ROW
      WHEN (NEW.auto_topup_triggered_at IS NOT NULL
            AND (NEW.balance >= NEW.auto_topup_threshold_credits
                 OR NEW.auto_topup_threshold_credits <> OLD.auto_topup_threshold_credits
                 OR NOT NEW.auto_topup_enabled
                 OR NEW.plan_slug IS NULL))
      EXECUTE FUNCTION clear_auto_topup_trigger();
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TRIGGER accounts_clear_auto_topup_trigger ON accounts;
    DROP FUNCTION clear_auto_topup_trigger;
    DROP TABLE sync_cursors, owed_refunds, payment_events, topups;
    DROP SEQUENCE sync_versions;
  `);
}
