-- Cancels a queued generation. One that certainly was not submitted (no handle, no unconfirmed submit, and no claim
-- other than the caller's own) ends and is refunded. For any other the request is recorded, once. Returns no row if the
-- generation has ended, is deleted, or its cancellation was requested before. `upstream` is the one to ask; NULL if
-- none has accepted it.
CREATE FUNCTION cancel_generation(
  p_uuid       uuid,
  p_account    bigint,
  p_claimed_at timestamptz, -- fencing token of the caller's claim; NULL if it has none
  p_now        timestamptz,
  p_files_at   timestamptz,
  p_canceled   text
) RETURNS TABLE (has_ended boolean, is_test boolean, has_webhook boolean, credits integer, upstream text,
                 polled_at timestamptz) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_generation record;
BEGIN
  PERFORM FROM accounts a WHERE a.id = p_account FOR NO KEY UPDATE;
  SELECT g.upstream_handle IS NOT NULL AS is_submitted, g.unconfirmed_submits, g.submit_started_at, g.cancel_requested_at
    INTO v_generation
    FROM generations g
   WHERE g.uuid = p_uuid AND g.account_id = p_account AND g.status = 'queued'
     AND (g.deleted_at IS NULL OR g.cancel_requested_at IS NOT NULL)
     FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN;
  ELSIF NOT v_generation.is_submitted AND v_generation.unconfirmed_submits = 0
        AND v_generation.submit_started_at IS NOT DISTINCT FROM p_claimed_at THEN
    RETURN QUERY
    SELECT true, f.is_test, f.has_webhook, f.credits, cast(NULL AS text), cast(NULL AS timestamptz)
      FROM fail_generations(json_build_array(json_build_object('uuid', p_uuid, 'account_id', p_account, 'message', p_canceled)),
                            ARRAY [p_account], ARRAY [p_uuid], p_now, p_files_at, p_canceled, true) f;
  ELSIF v_generation.cancel_requested_at IS NULL THEN
    RETURN QUERY
    UPDATE generations g
       SET cancel_requested_at = p_now, next_poll_at = NULL,
           next_attempt_at = CASE WHEN v_generation.is_submitted THEN p_now ELSE g.next_attempt_at END
     WHERE g.uuid = p_uuid AND g.account_id = p_account
    RETURNING false, g.is_test, false, 0, CASE WHEN v_generation.is_submitted THEN g.upstream END, g.polled_at;
  END IF;
END
$$;
