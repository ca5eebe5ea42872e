import type { Knex } from 'knex';

/**
 * Stores the need of an automatic top-up, and when a plan may have been changed at the payment processor. A suspended
 * account, or one that is being deleted, has no trigger: a reinstatement must not charge without another burn.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE topups ADD COLUMN needed_credits integer;
    COMMENT ON COLUMN topups.needed_credits IS
      'balance that the create needs for which it is charged; null for a manual one, and below the threshold';

    ALTER TABLE accounts ADD COLUMN portal_opened_at timestamptz;
    COMMENT ON COLUMN accounts.portal_opened_at IS
      'when a page was last opened on which the plan can be changed: the event of a change may be late';

    CREATE OR REPLACE TRIGGER accounts_clear_auto_topup_trigger BEFORE UPDATE ON accounts
      FOR EACH ROW
      WHEN (NEW.auto_topup_triggered_at IS NOT NULL
            AND (NEW.balance >= NEW.auto_topup_threshold_credits
                 OR NEW.auto_topup_threshold_credits <> OLD.auto_topup_threshold_credits
                 OR NOT NEW.auto_topup_enabled
                 OR NEW.plan_slug IS NULL
                 OR NEW.suspended_at IS NOT NULL
                 OR NEW.deletion_requested_at IS NOT NULL))
      EXECUTE FUNCTION clear_auto_topup_trigger();
    UPDATE accounts SET auto_topup_triggered_at = NULL
     WHERE auto_topup_enabled AND auto_topup_triggered_at IS NOT NULL
       AND (suspended_at IS NOT NULL OR deletion_requested_at IS NOT NULL);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE OR REPLACE TRIGGER accounts_clear_auto_topup_trigger BEFORE UPDATE ON accounts
      FOR EACH ROW
      WHEN (NEW.auto_topup_triggered_at IS NOT NULL
            AND (NEW.balance >= NEW.auto_topup_threshold_credits
                 OR NEW.auto_topup_threshold_credits <> OLD.auto_topup_threshold_credits
                 OR NOT NEW.auto_topup_enabled
                 OR NEW.plan_slug IS NULL))
      EXECUTE FUNCTION clear_auto_topup_trigger();
    ALTER TABLE accounts DROP COLUMN portal_opened_at;
    ALTER TABLE topups DROP COLUMN needed_credits;
  `);
}
