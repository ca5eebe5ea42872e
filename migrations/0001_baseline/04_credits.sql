-- The append-only credit ledger, and what top-ups owe after refunds and disputes.

-- Tables that a charge writes have no foreign keys: account_id comes from the account row that the same statement has
-- just updated, and checking it again cost a quarter of the throughput. Their keys include the account, so that they
-- can be partitioned by it.
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
COMMENT ON COLUMN ledger_entries.plan_amount IS 'the part of amount that was posted to the plan bucket';
COMMENT ON COLUMN ledger_entries.effect_key IS
  'unique key of an effect that must be posted once; entries of a generation use generation_uuid instead';
CREATE UNIQUE INDEX ledger_entries_generation_entry_type_unique ON ledger_entries
  (generation_uuid, entry_type, account_id) WHERE generation_uuid IS NOT NULL;
CREATE UNIQUE INDEX ledger_entries_effect_key_unique ON ledger_entries (effect_key, account_id)
  WHERE effect_key IS NOT NULL;
-- Filtered lists: see generations_filter_idx.
CREATE INDEX ledger_entries_filter_idx ON ledger_entries (account_id, entry_type, created_at, number);

CREATE FUNCTION reject_ledger_rewrite() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    RAISE EXCEPTION 'ledger_entries is append-only: % rejected', TG_OP;
  END
$$;
CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE ON ledger_entries
  FOR EACH ROW EXECUTE FUNCTION reject_ledger_rewrite();
CREATE TRIGGER ledger_entries_no_truncate BEFORE TRUNCATE ON ledger_entries
  FOR EACH STATEMENT EXECUTE FUNCTION reject_ledger_rewrite();

-- The bucket of top-up credits is first in, first out: purchases and credits given by staff, by ledger number. What is
-- left of one is what the bucket has more than all newer ones together, so that no counter has to be kept. Credits that
-- staff remove are a correction: they reduce those given before, the newest first, and what exceeds these is spent. So
-- what the newer gifts were is the most that gifts less removals add up to, counted from the newest.
CREATE FUNCTION topup_remainders(of_account bigint) RETURNS TABLE (topup_uuid uuid, number bigint, remainder integer)
  LANGUAGE sql STABLE AS $$
    WITH lot AS (
      SELECT e.number, t.uuid, CASE WHEN t.uuid IS NULL THEN 0 ELSE e.amount - t.credits_reversed END AS bought,
             CASE WHEN t.uuid IS NULL THEN e.amount ELSE 0 END AS given
        FROM ledger_entries e
        LEFT JOIN topups t ON t.account_id = of_account AND e.effect_key = 'topup:' || t.uuid
       WHERE e.account_id = of_account AND e.entry_type IN ('topup', 'grant', 'expiry')
         AND (e.entry_type = 'topup' OR e.effect_key LIKE 'adjustment:%')
    ), counted AS (
      SELECT number, uuid, bought, sum(bought) OVER newest - bought AS newer_bought, sum(given) OVER newest AS newer_given
        FROM lot WINDOW newest AS (ORDER BY number DESC)
    ), placed AS (
      SELECT number, uuid, bought, newer_bought + greatest(0, max(newer_given) OVER (ORDER BY number DESC)) AS newer
        FROM counted
    )
    SELECT placed.uuid, placed.number,
           cast(greatest(0, least(placed.bought, a.topup_credits - placed.newer)) AS integer)
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

-- Returns the balance below which `credits.low` is recorded: that of the account, or a tenth of the month's grant.
CREATE FUNCTION low_credits_threshold(p_threshold integer, p_granted integer) RETURNS integer IMMUTABLE LANGUAGE sql AS $$
  SELECT coalesce(p_threshold, p_granted / 10)
$$;

-- Lets `credits.low` be recorded again once the balance has recovered, whichever statement lifts it or lowers the
-- threshold. The end of a generation does not count: while a model fails, each create and its refund would cross the
-- threshold.
CREATE FUNCTION clear_credits_low() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.credits_low_since := NULL;
    RETURN NEW;
  END
$$;
CREATE TRIGGER accounts_clear_credits_low BEFORE UPDATE ON accounts
  FOR EACH ROW
  WHEN (NEW.credits_low_since IS NOT NULL AND NEW.in_flight = OLD.in_flight
        AND NEW.balance >= low_credits_threshold(NEW.credits_low_threshold, NEW.period_granted))
  EXECUTE FUNCTION clear_credits_low();
