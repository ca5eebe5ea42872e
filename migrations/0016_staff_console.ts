import type { Knex } from 'knex';
import type { ConcurrentIndex } from './concurrentIndexes.ts';

/** Indexes for the search and the account page of the staff console. */
export const concurrentIndexes: ConcurrentIndex[] = [
  { name: 'accounts_email_prefix_idx', on: 'accounts (email text_pattern_ops)' },
  { name: 'api_keys_prefix_idx', on: 'api_keys (prefix)' },
  { name: 'owed_refunds_account_idx', on: 'owed_refunds (account_id)' },
];

/** Creates refunds of top-ups by staff, and the time at which staff refunded a generation. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE topup_refunds (
      topup_uuid       uuid        PRIMARY KEY REFERENCES topups (uuid),
      account_id       bigint      NOT NULL REFERENCES accounts (id),
      status           text        NOT NULL DEFAULT 'owed' CHECK (status IN ('owed', 'refunded', 'rejected')),
      attempts         integer     NOT NULL DEFAULT 0,
      last_error       text,
      next_attempt_at  timestamptz NOT NULL,
      created_at       timestamptz NOT NULL,
      completed_at     timestamptz,
      CHECK ((status = 'owed') = (completed_at IS NULL))
    );
    COMMENT ON TABLE topup_refunds IS 'refunds of top-ups that staff requested; a sweep issues them at the processor';
    CREATE INDEX topup_refunds_account_idx ON topup_refunds (account_id);
    CREATE INDEX topup_refunds_next_attempt_idx ON topup_refunds (next_attempt_at) WHERE status = 'owed';

    ALTER TABLE generations ADD COLUMN refunded_at timestamptz;
    COMMENT ON COLUMN generations.refunded_at IS
      'when staff refunded it after it had succeeded; NULL for a failed one, which is refunded when it ends';

    -- The usage metric is net of refunds.
    CREATE FUNCTION track_refunded_generation_metrics() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO metric_deltas
        VALUES ('usage', NEW.model, (NEW.created_at AT TIME ZONE 'UTC')::date, 0, -NEW.credits_charged);
        RETURN NULL;
      END
    $$;
    CREATE TRIGGER generations_track_refunds AFTER UPDATE OF refunded_at ON generations
      FOR EACH ROW WHEN (OLD.refunded_at IS NULL AND NEW.refunded_at IS NOT NULL)
      EXECUTE FUNCTION track_refunded_generation_metrics();
    CREATE TRIGGER generations_subtract_staff_refund_from_key AFTER UPDATE OF refunded_at ON generations
      FOR EACH ROW WHEN (OLD.refunded_at IS NULL AND NEW.refunded_at IS NOT NULL AND NEW.api_key_number IS NOT NULL)
      EXECUTE FUNCTION subtract_refund_from_key();
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TRIGGER generations_subtract_staff_refund_from_key ON generations;
    DROP TRIGGER generations_track_refunds ON generations;
    DROP FUNCTION track_refunded_generation_metrics;
    ALTER TABLE generations DROP COLUMN refunded_at;
    DROP TABLE topup_refunds;
    DROP INDEX owed_refunds_account_idx, api_keys_prefix_idx, accounts_email_prefix_idx;
  `);
}
