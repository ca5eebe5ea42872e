import type { Knex } from 'knex';

/** Which subscription an account lives under, what is disputed, and how far the payment processor was asked. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE accounts ADD COLUMN subscription_id bigint REFERENCES subscriptions (id);
    COMMENT ON COLUMN accounts.subscription_id IS
      'the one whose plan credits these are; another one of the account''s changes nothing of it';
    UPDATE accounts a
       SET subscription_id = s.id
      FROM (SELECT DISTINCT ON (account_id) id, account_id
              FROM subscriptions
             WHERE activated_at IS NOT NULL AND status <> 'canceled'
             ORDER BY account_id, status IN ('active', 'past_due') DESC, id DESC) AS s
     WHERE s.account_id = a.id;

    -- Looked at again as long as it is open, so that its end is not missed.
    ALTER TABLE subscriptions ADD COLUMN disputed_charge_id text;
    ALTER TABLE subscriptions DROP COLUMN is_disputed;

    ALTER TABLE topups
      -- Of the money: what of the credits could be taken back for it is another matter.
      ADD COLUMN reversed_cents  integer      NOT NULL DEFAULT 0 CHECK (reversed_cents BETWEEN 0 AND amount_cents),
      -- When a pending one is looked at again.
      ADD COLUMN next_attempt_at          timestamptz;
    UPDATE topups SET next_attempt_at = created_at, reversed_cents = cast(ceil(amount_cents * credits_reversed::numeric / credits) AS int);
    ALTER TABLE topups ALTER COLUMN next_attempt_at SET NOT NULL;
    DROP INDEX topups_pending_idx;
    CREATE INDEX topups_pending_idx ON topups (kind, next_attempt_at) WHERE status = 'pending';

    CREATE TABLE sync_cursors (
      subject     text         PRIMARY KEY,
      synced_through  timestamptz  NOT NULL
    );
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE sync_cursors;
    DROP INDEX topups_pending_idx;
    ALTER TABLE topups DROP COLUMN reversed_cents, DROP COLUMN next_attempt_at;
    CREATE INDEX topups_pending_idx ON topups (created_at) WHERE status = 'pending';
    ALTER TABLE subscriptions DROP COLUMN disputed_charge_id, ADD COLUMN is_disputed boolean NOT NULL DEFAULT false;
    ALTER TABLE accounts DROP COLUMN subscription_id;
  `);
}
