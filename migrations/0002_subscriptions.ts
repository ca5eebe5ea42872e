import type { Knex } from 'knex';

/** Creates subscriptions, and the reference from an account to its current one. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE subscriptions (
      id                      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      uuid                    uuid        NOT NULL UNIQUE,
      account_id              bigint      NOT NULL REFERENCES accounts (id),
      plan_slug               text        NOT NULL,
      status                  text        NOT NULL
        CHECK (status IN ('active', 'past_due', 'canceled', 'unpaid', 'incomplete')),
      processor               text        NOT NULL,
      stripe_subscription_id  text        UNIQUE,
      started_at              timestamptz NOT NULL,
      current_period_end      timestamptz NOT NULL,
      paid_until              timestamptz NOT NULL,
      past_due_since          timestamptz,
      activated_at            timestamptz,
      cancel_at_period_end    boolean     NOT NULL DEFAULT false,
      disputed_charge_id      text,
      refunded_upgrade        text,
      follow_up               text        CHECK (follow_up IN ('resolve', 'cancel', 'refund')),
      follow_up_at            timestamptz,
      follow_up_next_attempt_at  timestamptz,
      sync_version            bigint      NOT NULL DEFAULT 0,
      synced_at               timestamptz,
      created_at              timestamptz NOT NULL
    );
    COMMENT ON COLUMN subscriptions.activated_at IS 'when its first month was granted';
    COMMENT ON COLUMN subscriptions.disputed_charge_id IS 'synced again until the dispute is closed';
    COMMENT ON COLUMN subscriptions.refunded_upgrade IS 'the plan whose upgrade was refunded in the current year';
    COMMENT ON COLUMN subscriptions.follow_up IS
      'pending action at the processor: resolve which of two live subscriptions stays, cancel, or cancel and refund';
    COMMENT ON COLUMN subscriptions.follow_up_next_attempt_at IS 'when the action is attempted next; NULL once it is done';
    COMMENT ON COLUMN subscriptions.sync_version IS
      'version of the last applied snapshot of the processor; older snapshots are ignored';
    -- An account has at most one subscription that credits can be spent under.
    CREATE UNIQUE INDEX subscriptions_one_live_per_account ON subscriptions (account_id)
      WHERE status IN ('active', 'past_due');
    CREATE INDEX subscriptions_account_id_idx ON subscriptions (account_id, id);
    CREATE INDEX subscriptions_current_period_end_idx ON subscriptions (current_period_end)
      WHERE status IN ('active', 'past_due');
    CREATE INDEX subscriptions_synced_at_idx ON subscriptions (synced_at) WHERE stripe_subscription_id IS NOT NULL;
    CREATE INDEX subscriptions_follow_up_idx ON subscriptions (follow_up_next_attempt_at)
      WHERE follow_up_next_attempt_at IS NOT NULL;
    CREATE INDEX subscriptions_refunded_upgrade_idx ON subscriptions (id) WHERE refunded_upgrade IS NOT NULL;

    -- The two tables refer to each other, so this reference is added last.
    ALTER TABLE accounts ADD FOREIGN KEY (subscription_id) REFERENCES subscriptions (id);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE accounts DROP CONSTRAINT accounts_subscription_id_fkey;
    DROP TABLE subscriptions;
  `);
}
