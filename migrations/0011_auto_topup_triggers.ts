import type { Knex } from 'knex';

/**
 * Records the burn that triggered an automatic top-up, disputes of top-ups, and payment events that were given up.
 *
 * The database clears a recorded trigger, not each of the many statements that move credits: a statement that forgot it
 * would charge a card without a burn.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE accounts ADD COLUMN auto_topup_triggered_at timestamptz;
    -- Not indexed, so that a charge still rewrites its row in place.
    COMMENT ON COLUMN accounts.auto_topup_triggered_at IS
      'when a burn left the balance below the threshold, until an automatic top-up is claimed for it or the balance recovers';

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

    ALTER TABLE topups ADD COLUMN is_disputed boolean NOT NULL DEFAULT false;
    COMMENT ON COLUMN topups.is_disputed IS 'whether its payment was disputed at the last look';

    ALTER TABLE payment_events ADD COLUMN abandoned_at timestamptz;
    COMMENT ON COLUMN payment_events.abandoned_at IS 'when it was given up, after three days of attempts that failed';
    DROP INDEX payment_events_pending_idx;
    CREATE INDEX payment_events_pending_idx ON payment_events (next_attempt_at) WHERE processed_at IS NULL AND abandoned_at IS NULL;
    CREATE INDEX payment_events_abandoned_idx ON payment_events (abandoned_at) WHERE abandoned_at IS NOT NULL;
    CREATE INDEX payment_events_prune_idx ON payment_events (received_at)
      WHERE processed_at IS NOT NULL OR abandoned_at IS NOT NULL;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP INDEX payment_events_prune_idx, payment_events_abandoned_idx, payment_events_pending_idx;
    ALTER TABLE payment_events DROP COLUMN abandoned_at;
    CREATE INDEX payment_events_pending_idx ON payment_events (next_attempt_at) WHERE processed_at IS NULL;
    ALTER TABLE topups DROP COLUMN is_disputed;
    DROP TRIGGER accounts_clear_auto_topup_trigger ON accounts;
    DROP FUNCTION clear_auto_topup_trigger();
    ALTER TABLE accounts DROP COLUMN auto_topup_triggered_at;
  `);
}
