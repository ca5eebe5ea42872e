-- Ends generations without an output, once each, and refunds them: balance, ledger, usage and slot. Returns a row for
-- each end; none for a generation that had ended before, or that has another run than the one that failed.
--
-- Without p_waits, an account that another transaction keeps locked is left out, and its row says so.
CREATE FUNCTION fail_generations(
  p_ends     json,
  p_accounts bigint[],
  p_uuids    uuid[],
  p_now      timestamptz,
  p_files_at timestamptz, -- time of the deletion of files that the run may have left
  p_canceled text,        -- message of a generation that its owner has canceled
  p_waits    boolean
) RETURNS TABLE (uuid uuid, is_busy boolean, is_test boolean, has_webhook boolean, credits integer) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_accounts bigint[] := lock_accounts(p_accounts, p_waits);
BEGIN

  RETURN QUERY
  WITH result AS MATERIALIZED (
    SELECT * FROM json_to_recordset(p_ends) AS r (uuid uuid, account_id bigint, message text, run timestamptz)
  ), ended AS (
    UPDATE generations g
       SET status = 'failed', completed_at = p_now, error_message = r.message, upstream_output = NULL,
           cancel_requested_at = CASE WHEN r.message = p_canceled THEN coalesce(g.cancel_requested_at, p_now)
                                      ELSE g.cancel_requested_at END
      FROM result r JOIN accounts a ON a.id = ANY (v_accounts) AND a.id = r.account_id
     WHERE g.uuid = ANY (p_uuids) AND g.uuid = r.uuid AND g.account_id = r.account_id AND g.status = 'queued'
       AND (r.run IS NULL OR r.run = coalesce(g.submitted_at, g.submit_started_at))
    RETURNING g.uuid, g.account_id, g.is_test, g.model, g.created_at, g.credits_charged, g.plan_credits_charged,
              g.error_message, g.media_token, a.balance, a.ledger_count,
              a.webhook_count > 0 OR g.webhook_url IS NOT NULL AS has_webhook,
              CASE WHEN g.number > a.generation_count_at_period_start THEN g.credits_charged ELSE 0 END AS used_this_period
  ), leftovers AS (
    INSERT INTO tasks (kind, key, account_id, run_at, created_at)
    SELECT 'generation.deleteFiles', media_token, account_id, p_files_at, p_now FROM ended WHERE media_token IS NOT NULL
    ON CONFLICT (kind, key) DO UPDATE SET run_at = excluded.run_at, lease = NULL
  ), refunded AS (
    UPDATE accounts a
       SET balance = a.balance + sums.credits,
           plan_credits = a.plan_credits + sums.plan_credits,
           topup_credits = a.topup_credits + sums.credits - sums.plan_credits,
           period_used = a.period_used - sums.used,
           in_flight = a.in_flight - sums.ended,
           ledger_count = a.ledger_count + sums.entries
      FROM (SELECT account_id, cast(count(*) AS integer) AS ended,
                   cast(count(*) FILTER (WHERE NOT is_test) AS integer) AS entries,
                   cast(sum(credits_charged) AS integer) AS credits,
                   cast(sum(plan_credits_charged) AS integer) AS plan_credits,
                   cast(sum(used_this_period) AS integer) AS used
              FROM ended GROUP BY account_id) sums
     WHERE a.id = ANY (v_accounts) AND a.id = sums.account_id
  ), refund AS (
    INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description,
                                generation_uuid, created_at)
    SELECT account_id, ledger_count + row_number() OVER in_order, 'refund', credits_charged, plan_credits_charged,
           balance + sum(credits_charged) OVER in_order,
           'Refund: ' || model || CASE error_message WHEN p_canceled THEN ' generation canceled'
                                                     ELSE ' generation failed' END,
           uuid, p_now
      FROM ended WHERE NOT is_test
    WINDOW in_order AS (PARTITION BY account_id ORDER BY uuid)
  ), usage AS (
    UPDATE usage_days u SET credits = u.credits - days.credits
      FROM (SELECT account_id, cast(created_at AT TIME ZONE 'UTC' AS date) AS day, model, sum(credits_charged) AS credits
              FROM ended GROUP BY 1, 2, 3) days
     WHERE u.account_id = days.account_id AND u.day = days.day AND u.model = days.model
  ), total AS (
    UPDATE usage_totals u SET credits = u.credits - models.credits
      FROM (SELECT account_id, model, sum(credits_charged) AS credits FROM ended GROUP BY 1, 2) models
     WHERE u.account_id = models.account_id AND u.model = models.model
  ), event AS (
    INSERT INTO outbox_events (account_id, type, subject, created_at)
    SELECT account_id, 'generation.failed', cast(uuid AS text), p_now FROM ended WHERE has_webhook
    ON CONFLICT (account_id, type, subject) DO NOTHING
  )
  SELECT uuid, false, is_test, has_webhook, credits_charged FROM ended
   UNION ALL
  SELECT uuid, true, false, false, 0 FROM result WHERE account_id <> ALL (v_accounts);
END
$$;
