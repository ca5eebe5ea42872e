-- Records the outcomes of attempts, ends the leases of deliveries that were not attempted, and leases deliveries that
-- are due to the caller. Returns a row for each outcome that was recorded, and for each endpoint that was due one for
-- every leased delivery, or one without any.
--
-- `concurrency` deliveries of an endpoint may be leased at a time. A caller that has leased them all itself, and whose
-- attempts were quick, gets a multiple, which it starts when others have ended: the next attempt need not wait until
-- the last one is recorded. The number of attempts in flight stays within the limit: another caller gets a lease only
-- while fewer are leased in all.
--
-- Endpoints are locked first, in the order of their ids, so that the statements after it see all deliveries of
-- transactions that held the locks, and next_delivery_at misses none. The arrays repeat ids of the outcomes: without
-- them, the planner estimates a hundred rows and scans the tables. Plans are made once: Postgres would make one for
-- each small array, which takes as long as the rest. They read deliveries in the order of their index, also if the
-- table was small then.
CREATE FUNCTION record_and_claim_deliveries(
  p_outcomes     json,
  p_ids          bigint[],
  p_endpoints    bigint[],
  p_healthy      integer,     -- endpoints whose deliveries are leased, at most
  p_failing      integer,     -- the same of those that fail, which do not delay others
  p_concurrency  integer,     -- attempts in flight to one endpoint, at most
  p_ahead        integer,     -- leases for each of them while deliveries are leased in advance
  p_log_length   integer,     -- attempts of a delivery that are stored
  p_quick_ms     integer,     -- longest attempt after which further deliveries are leased in advance
  p_now          timestamptz,
  p_leased_by    uuid,        -- the process of the caller
  p_leased_until timestamptz, -- end of new leases, in which two leases of a process differ
  p_slow_until   timestamptz  -- end of leases whose attempts are slow
) RETURNS TABLE (
  is_recorded boolean, id bigint, endpoint_id bigint, endpoint_uuid uuid, account_id bigint, endpoint_url text, secret text,
  private_key text, public_key text, previous_secret text, previous_private_key text, previous_until timestamptz,
  failing_since timestamptz, url text, attempts integer, event_uuid uuid, body text, recorded_at timestamptz, allowed integer
) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_sort = off AS $$
#variable_conflict use_column
DECLARE
  v_recorded bigint[];
  v_quick    bigint[];
  v_due      bigint[];
BEGIN

  PERFORM FROM webhook_endpoints WHERE id = ANY (p_endpoints) ORDER BY id FOR NO KEY UPDATE;

  -- An endpoint is due after an attempt: it may get another one. A delivery that was not attempted waits as before.
  WITH outcome AS MATERIALIZED (
    SELECT * FROM json_to_recordset(p_outcomes)
        AS o (id bigint, leased_until timestamptz, status text, next_attempt_at timestamptz, attempt jsonb)
  ), recorded AS (
    UPDATE webhook_deliveries d
       SET status = o.status, attempts = d.attempts + 1, next_attempt_at = o.next_attempt_at, leased_until = NULL,
           leased_by = NULL, last_attempt_at = p_now, last_status = cast(o.attempt ->> 'status' AS integer),
           last_error = o.attempt ->> 'error',
           attempt_log = CASE WHEN jsonb_array_length(d.attempt_log) < p_log_length THEN d.attempt_log
                              ELSE d.attempt_log - 0 END || o.attempt,
           delivered_at = CASE WHEN o.status = 'succeeded' THEN p_now END
      FROM outcome o
     WHERE d.id = ANY (p_ids) AND d.id = o.id AND d.leased_until = o.leased_until AND d.leased_by = p_leased_by
       AND o.attempt IS NOT NULL
    RETURNING d.id, d.endpoint_id, d.status, cast(o.attempt ->> 'duration_ms' AS integer) AS duration_ms
  ), released AS (
    UPDATE webhook_deliveries d SET leased_until = NULL, leased_by = NULL
      FROM outcome o
     WHERE d.id = ANY (p_ids) AND d.id = o.id AND d.leased_until = o.leased_until AND d.leased_by = p_leased_by
       AND o.attempt IS NULL
    RETURNING d.id, d.endpoint_id
  ), result AS (
    SELECT endpoint_id, bool_or(status = 'succeeded') AS has_succeeded,
           bool_and(status = 'succeeded' AND duration_ms <= p_quick_ms) AS is_quick
      FROM (SELECT endpoint_id, status, duration_ms FROM recorded
             UNION ALL SELECT endpoint_id, NULL, NULL FROM released) changed
     GROUP BY endpoint_id
  ), attempted AS (
    UPDATE webhook_endpoints e
       SET next_delivery_at = CASE WHEN e.disabled_at IS NULL THEN p_now END,
           failing_since = CASE WHEN result.has_succeeded IS NULL THEN e.failing_since
                                WHEN NOT result.has_succeeded AND e.url IS NOT NULL
                                THEN coalesce(e.failing_since, p_now) END,
           concurrency = CASE WHEN result.has_succeeded THEN greatest(e.concurrency, least(p_concurrency, e.concurrency * 2))
                              ELSE e.concurrency END
      FROM result
     WHERE e.id = ANY (p_endpoints) AND e.id = result.endpoint_id
  )
  SELECT ARRAY (SELECT id FROM recorded UNION ALL SELECT id FROM released),
         ARRAY (SELECT endpoint_id FROM result WHERE is_quick)
    INTO v_recorded, v_quick;

  v_due := ARRAY (
    SELECT id FROM (
      SELECT id FROM webhook_endpoints WHERE next_delivery_at <= p_now AND failing_since IS NULL
       ORDER BY next_delivery_at LIMIT p_healthy FOR NO KEY UPDATE SKIP LOCKED) healthy
     UNION ALL
    SELECT id FROM (
      SELECT id FROM webhook_endpoints WHERE next_delivery_at <= p_now AND failing_since IS NOT NULL
       ORDER BY next_delivery_at LIMIT p_failing FOR NO KEY UPDATE SKIP LOCKED) failing);
  IF v_due = '{}' AND v_recorded = '{}' THEN
    RETURN;
  END IF;

  RETURN QUERY
  WITH endpoint AS MATERIALIZED (
    SELECT e.*, attempts.allowed,
           CASE WHEN flight.is_own AND attempts.allowed > 1 AND e.id = ANY (v_quick) THEN p_ahead ELSE 1 END * attempts.allowed
             - flight.size AS room
      FROM webhook_endpoints e,
           LATERAL (SELECT cast(count(*) AS integer) AS size, bool_or(leased_until <= p_slow_until) AS is_slow,
                           coalesce(bool_and(leased_by = p_leased_by), true) AS is_own
                      FROM (SELECT leased_until, leased_by FROM webhook_deliveries
                             WHERE endpoint_id = e.id AND status = 'pending' AND leased_until > p_now
                             ORDER BY leased_until LIMIT p_ahead * p_concurrency) leased) flight,
           LATERAL (SELECT CASE WHEN e.disabled_at IS NOT NULL THEN 0
                                WHEN e.failing_since IS NOT NULL THEN 1
                                -- The default endpoint has many receivers. A slow one leaves room for the others.
                                ELSE least(p_concurrency,
                                           greatest(CASE WHEN e.url IS NULL THEN p_concurrency / 2 ELSE 1 END,
                                                    CASE WHEN flight.is_slow THEN 1 ELSE e.concurrency END)) END AS allowed) attempts
     WHERE e.id = ANY (v_due)
  ), claimed AS (
    UPDATE webhook_deliveries d SET leased_until = p_leased_until, leased_by = p_leased_by
      FROM endpoint,
           -- Those of workers that have ended first. The order is that of the index: a backlog is neither read nor
           -- sorted.
           LATERAL (SELECT id FROM (
                      (SELECT id FROM webhook_deliveries
                        WHERE endpoint_id = endpoint.id AND status = 'pending' AND leased_until <= p_now
                        ORDER BY leased_until LIMIT p_ahead * p_concurrency)
                       UNION ALL
                      (SELECT id FROM webhook_deliveries
                        WHERE endpoint_id = endpoint.id AND status = 'pending' AND leased_until IS NULL
                          AND next_attempt_at <= p_now
                        ORDER BY leased_until, next_attempt_at, id LIMIT p_ahead * p_concurrency)) available
                    LIMIT greatest(0, endpoint.room)) due
     WHERE d.id = due.id
    RETURNING d.id, d.endpoint_id, d.event_id, d.url, d.attempts, d.next_attempt_at
  )
  SELECT r.id IS NOT NULL, coalesce(r.id, d.id), e.id, e.uuid, e.account_id, e.url, e.secret, e.private_key, e.public_key,
         e.previous_secret, e.previous_private_key, e.previous_until, e.failing_since, d.url, d.attempts, v.uuid, v.body,
         v.created_at, e.allowed
    FROM endpoint e
    LEFT JOIN claimed d ON d.endpoint_id = e.id
    LEFT JOIN outbox_events v ON v.id = d.event_id
    FULL JOIN unnest(v_recorded) AS r (id) ON false
   ORDER BY d.next_attempt_at, d.id;

  -- A delivery that is due and was not leased waits for the outcome of one that is.
  UPDATE webhook_endpoints e
     SET concurrency = CASE WHEN first.ends_at IS NULL THEN 1 ELSE e.concurrency END,
         next_delivery_at = CASE WHEN e.disabled_at IS NULL
                                 THEN least(first.ends_at, CASE WHEN first.due_at > p_now THEN first.due_at END) END
    FROM unnest(v_due) AS due (id),
         LATERAL (SELECT (SELECT leased_until FROM webhook_deliveries
                           WHERE endpoint_id = due.id AND status = 'pending' AND leased_until > p_now
                           ORDER BY leased_until LIMIT 1) AS ends_at,
                         (SELECT next_attempt_at FROM webhook_deliveries
                           WHERE endpoint_id = due.id AND status = 'pending' AND leased_until IS NULL
                           ORDER BY leased_until, next_attempt_at LIMIT 1) AS due_at) first
   WHERE e.id = due.id;
END
$$;
