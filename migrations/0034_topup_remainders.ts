import type { Knex } from 'knex';

/**
 * Derives what is left of each top-up and what each still owes after refunds and disputes, and takes back what is owed
 * as soon as it is there. Adding the stored column rewrites `topups`, which has one row per payment.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE topups ADD COLUMN credits_owed integer GENERATED ALWAYS AS
      (cast(credits::bigint * reversed_cents / coalesce(net_cents, amount_cents) AS integer) - credits_reversed) STORED;
    COMMENT ON COLUMN topups.credits_owed IS
      'credits of the reversed amount that are not taken back yet; negative: to be returned after a dispute was won';

    ALTER TABLE topup_refunds ADD COLUMN cause text NOT NULL DEFAULT 'staff' CHECK (cause IN ('staff', 'erased'));
    COMMENT ON COLUMN topup_refunds.cause IS 'staff: requested by staff; erased: paid for an account that is erased';
    COMMENT ON TABLE topup_refunds IS 'refunds of top-ups that are owed; a sweep issues them at the processor';

    -- The bucket of top-up credits is first in, first out: purchases and credits given by staff, by ledger number. What is
    -- left of one is what the bucket has more than all newer ones together, so that no counter has to be kept.
    CREATE FUNCTION topup_remainders(of_account bigint) RETURNS TABLE (topup_uuid uuid, number bigint, remainder integer)
      LANGUAGE sql STABLE AS $$
        WITH lot AS (
          SELECT e.number, t.uuid, e.amount - coalesce(t.credits_reversed, 0) AS credits
            FROM ledger_entries e
            LEFT JOIN topups t ON t.account_id = of_account AND e.effect_key = 'topup:' || t.uuid
           WHERE e.account_id = of_account AND e.entry_type IN ('topup', 'grant')
             AND (e.entry_type = 'topup' OR e.effect_key ~ '^(goodwill|adjustment):')
        ), placed AS (
          SELECT number, uuid, credits, sum(credits) OVER (ORDER BY number DESC) - credits AS newer FROM lot
        )
        SELECT placed.uuid, placed.number,
               cast(greatest(0, least(placed.credits, a.topup_credits - placed.newer)) AS integer)
          FROM placed JOIN accounts a ON a.id = of_account
         WHERE placed.uuid IS NOT NULL
      $$;

    -- Takes what top-ups of a locked account owe, the oldest first, each from its own remainder.
    CREATE FUNCTION settle_owed_topups(of_account bigint, posted_at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
      DECLARE
        lot record;
      BEGIN
        IF NOT EXISTS (SELECT FROM topups WHERE account_id = of_account AND credits_owed > 0) THEN
          RETURN;
        END IF;
        FOR lot IN
          SELECT t.uuid, t.reversal_count + 1 AS reversal, least(t.credits_owed, r.remainder) AS credits
            FROM topup_remainders(of_account) r JOIN topups t ON t.uuid = r.topup_uuid
           WHERE t.credits_owed > 0 AND r.remainder > 0
           ORDER BY r.number
        LOOP
          UPDATE topups SET credits_reversed = credits_reversed + lot.credits, reversal_count = lot.reversal
           WHERE uuid = lot.uuid;
          WITH owner AS (
            UPDATE accounts
               SET balance = balance - lot.credits, topup_credits = topup_credits - lot.credits,
                   ledger_count = ledger_count + 1
             WHERE id = of_account
            RETURNING balance, ledger_count
          )
          INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description,
                                      effect_key, created_at)
          SELECT of_account, ledger_count, 'expiry', -lot.credits, 0, balance, 'Top-up refunded or disputed',
                 'topup:' || lot.uuid || ':' || lot.reversal, posted_at
            FROM owner;
        END LOOP;
      END
    $$;

    -- Fires at the end of the statement that refunds a generation, when the account's row has its new balance.
    CREATE FUNCTION settle_owed_topups_after_refund() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM settle_owed_topups(NEW.account_id, NEW.created_at);
        RETURN NULL;
      END
    $$;
    CREATE TRIGGER ledger_entries_settle_owed_topups AFTER INSERT ON ledger_entries
      FOR EACH ROW WHEN (NEW.entry_type = 'refund' AND NEW.amount > NEW.plan_amount)
      EXECUTE FUNCTION settle_owed_topups_after_refund();
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TRIGGER ledger_entries_settle_owed_topups ON ledger_entries;
    DROP FUNCTION settle_owed_topups_after_refund, settle_owed_topups, topup_remainders;
    ALTER TABLE topup_refunds DROP COLUMN cause;
    ALTER TABLE topups DROP COLUMN credits_owed;
  `);
}
