import type { Knex } from 'knex';

/** What is still to be done at the payment processor, as rows: refunds that are owed, and subscriptions to end there. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE owed_refunds (
      -- One for each invoice: all of its payments are refunded.
      invoice_id       text         PRIMARY KEY,
      subscription_id  bigint       NOT NULL REFERENCES subscriptions (id),
      account_id       bigint       NOT NULL REFERENCES accounts (id),
      status           text         NOT NULL DEFAULT 'owed' CHECK (status IN ('owed', 'refunded', 'refused')),
      attempts         integer      NOT NULL DEFAULT 0,
      problem          text,
      -- When the next attempt is made.
      next_attempt_at           timestamptz  NOT NULL,
      created_at       timestamptz  NOT NULL,
      completed_at     timestamptz,
      CHECK ((status = 'owed') = (completed_at IS NULL))
    );
    CREATE INDEX owed_refunds_next_attempt_idx ON owed_refunds (next_attempt_at) WHERE status = 'owed';
    CREATE INDEX owed_refunds_refused_idx ON owed_refunds (completed_at) WHERE status = 'refused';

    ALTER TABLE subscriptions
      ADD COLUMN follow_up         text CHECK (follow_up IN ('resolve', 'cancel', 'refund')),
      ADD COLUMN follow_up_at      timestamptz,
      ADD COLUMN follow_up_next_attempt_at  timestamptz,
      ADD COLUMN refunded_upgrade  text;
    COMMENT ON COLUMN subscriptions.follow_up IS
      'what is to be done at the processor: resolve which of two live ones stays, cancel, or cancel and refund';
    COMMENT ON COLUMN subscriptions.follow_up_next_attempt_at IS 'when the next attempt is made; NULL once it is done';
    COMMENT ON COLUMN subscriptions.refunded_upgrade IS 'the plan whose upgrade was refunded in the running year';
    CREATE INDEX subscriptions_follow_up_idx ON subscriptions (follow_up_next_attempt_at) WHERE follow_up_next_attempt_at IS NOT NULL;
    CREATE INDEX subscriptions_refunded_upgrade_idx ON subscriptions (id) WHERE refunded_upgrade IS NOT NULL;

    -- A refused payout may return more than is left after another one took something back.
    ALTER TABLE commissions DROP CONSTRAINT commissions_settled_cents_check;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE commissions ADD CONSTRAINT commissions_settled_cents_check CHECK (settled_cents >= 0);
    ALTER TABLE subscriptions
      DROP COLUMN follow_up, DROP COLUMN follow_up_at, DROP COLUMN follow_up_next_attempt_at, DROP COLUMN refunded_upgrade;
    DROP TABLE owed_refunds;
  `);
}
