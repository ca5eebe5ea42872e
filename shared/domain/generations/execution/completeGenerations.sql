-- Ends generations that have an output, once each: frees their slots and records the events that a webhook follows
-- from. One that was deleted meanwhile has its files deleted. Returns a row for each end; none for a generation that
-- had ended before.
--
-- Without p_waits, an account that another transaction keeps locked is left out, and its row says so.
CREATE FUNCTION complete_generations(
  p_ends     json,
  p_accounts bigint[],
  p_uuids    uuid[],
  p_now      timestamptz,
  p_waits    boolean
) RETURNS TABLE (uuid uuid, is_busy boolean, is_test boolean, has_webhook boolean) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_accounts bigint[] := lock_accounts(p_accounts, p_waits);
BEGIN

  RETURN QUERY
  WITH result AS MATERIALIZED (
    SELECT * FROM json_to_recordset(p_ends) AS r (uuid uuid, account_id bigint, output_path text, thumbnail_path text,
                                                  more_outputs jsonb, is_watermarked boolean, provider_cost_cents numeric)
  ), ended AS (
    UPDATE generations g
       SET status = 'succeeded', completed_at = p_now, output_path = r.output_path, thumbnail_path = r.thumbnail_path,
           more_outputs = r.more_outputs,
           is_watermarked = r.is_watermarked, provider_cost_cents = r.provider_cost_cents, upstream_output = NULL
      FROM result r JOIN accounts a ON a.id = ANY (v_accounts) AND a.id = r.account_id
     WHERE g.uuid = ANY (p_uuids) AND g.uuid = r.uuid AND g.account_id = r.account_id AND g.status = 'queued'
    RETURNING g.uuid, g.account_id, g.is_test, g.deleted_at, g.media_token,
              a.webhook_count > 0 OR g.webhook_url IS NOT NULL AS has_webhook
  ), unwanted AS (
    INSERT INTO tasks (kind, key, account_id, run_at, created_at)
    SELECT 'generation.deleteFiles', media_token, account_id, p_now, p_now
      FROM ended WHERE deleted_at IS NOT NULL AND media_token IS NOT NULL
    ON CONFLICT (kind, key) DO NOTHING
  ), freed AS (
    UPDATE accounts a SET in_flight = a.in_flight - counts.ended
      FROM (SELECT account_id, cast(count(*) AS integer) AS ended FROM ended GROUP BY account_id) counts
     WHERE a.id = ANY (v_accounts) AND a.id = counts.account_id
  ), event AS (
    INSERT INTO outbox_events (account_id, type, subject, created_at)
    SELECT account_id, 'generation.succeeded', cast(uuid AS text), p_now FROM ended WHERE has_webhook
    ON CONFLICT (account_id, type, subject) DO NOTHING
  )
  SELECT uuid, false, is_test, has_webhook FROM ended
   UNION ALL
  SELECT uuid, true, false, false FROM result WHERE account_id <> ALL (v_accounts);
END
$$;
