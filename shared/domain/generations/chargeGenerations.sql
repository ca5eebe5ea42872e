-- Charges and queues generations: locks, decides each request, and writes account, generation, ledger entry and usage
-- (docs/adr/0004-charge-statement.md). Each command of a function sees what was committed before it began, so what is
-- decided after the locks is not older than them. All that changes or ends a credential or a limit locks the account,
-- or the grant. Requests of one account are in different rounds, each of which is decided after what the one before it
-- has written.
--
-- Returns a row for each request that was decided. Without p_waits, an account that another transaction keeps locked is
-- left out, so that the others do not wait. With it, the function waits, and recognizes what an earlier call has
-- charged whose answer was lost.
--
-- A burn that leaves the balance below the threshold records the trigger of an automatic top-up; nothing else records
-- one. So does the event `credits.low`, once until the balance has recovered, if a webhook or an e-mail follows from
-- it.
CREATE FUNCTION charge_generations(
  p_rounds       json[],      -- each a list of requests, at most one of an account
  p_accounts     bigint[],
  p_key_hashes   bytea[],
  p_grants       uuid[],
  p_uploads      uuid[],
  p_now          timestamptz,
  p_probed_since timestamptz,
  p_creators     text[],      -- roles of members that may create generations
  p_due_at       timestamptz, -- time at which the sweep enqueues another dispatch
  p_sends_email  boolean,
  p_waits        boolean
) RETURNS TABLE (uuid uuid, outcome text, is_low boolean) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_uploads  uuid[] := '{}';
  v_accounts bigint[];
  v_charged  uuid[] := '{}';
  v_requests json;
BEGIN
  -- None of the images is deleted until the generation refers to it. One that is being deleted is missing.
  IF p_uploads <> '{}' THEN
    v_uploads := ARRAY (SELECT u.uuid FROM uploads u WHERE u.uuid = ANY (p_uploads) AND u.status = 'ready'
                         ORDER BY u.uuid FOR KEY SHARE);
  END IF;
  v_accounts := lock_accounts(p_accounts, p_waits);
  IF p_waits THEN
    v_charged := ARRAY (SELECT g.uuid
                          FROM unnest(p_rounds) AS round, json_to_recordset(round) AS r (uuid uuid, account_id bigint)
                          JOIN generations g
                            ON g.account_id = ANY (p_accounts) AND g.account_id = r.account_id AND g.uuid = r.uuid);
  END IF;
  -- A revocation, which does not lock the account, commits before the grant is read, or after the charge.
  IF p_grants <> '{}' THEN
    PERFORM FROM oauth_grants g WHERE g.uuid = ANY (p_grants) AND g.account_id = ANY (v_accounts)
      ORDER BY g.uuid FOR SHARE;
  END IF;

  FOREACH v_requests IN ARRAY p_rounds LOOP
    RETURN QUERY
    WITH decided AS MATERIALIZED (
      SELECT * FROM decide_creates(v_requests, v_accounts, p_key_hashes, v_uploads, p_now, p_probed_since, p_creators)
    ), charged AS (
      UPDATE accounts a
         SET balance = a.balance - d.credits,
             plan_credits = a.plan_credits - d.from_plan,
             topup_credits = a.topup_credits - (d.credits - d.from_plan),
             period_used = a.period_used + d.credits,
             in_flight = a.in_flight + 1,
             generation_count = a.generation_count + 1,
             ledger_count = a.ledger_count + cast(NOT d.is_test AS integer),
             auto_topup_triggered_at = CASE WHEN d.leaves_low THEN coalesce(a.auto_topup_triggered_at, d.created_at) END,
             credits_low_since = CASE WHEN d.turns_low AND (p_sends_email OR a.webhook_count > 0)
                                      THEN d.created_at ELSE a.credits_low_since END
        FROM decided d
       WHERE a.id = d.account_id AND d.outcome = 'accepted' AND d.uuid <> ALL (v_charged)
      RETURNING a.balance, a.generation_count, a.ledger_count, a.webhook_count, a.spending_limit_count, d.*
    ), generation AS (
      INSERT INTO generations (uuid, account_id, number, model, prompt, params, credits_charged, plan_credits_charged,
                               created_at, deadline_at, next_attempt_at, idempotency_key, member_number, api_key_number,
                               webhook_url, metadata, catalog_id, upstream_order, is_test, oauth_client_id)
      SELECT uuid, account_id, generation_count, model, prompt, params, credits, from_plan, created_at, deadline_at,
             p_due_at, idempotency_key, member_number, api_key_number, webhook_url, metadata, catalog_id,
             upstream_order, is_test, oauth_client_id
        FROM charged
    ), input AS (
      INSERT INTO generation_inputs (generation_uuid, account_id, role, position, upload_uuid)
      SELECT c.uuid, c.account_id, i.role, i.position, i.upload_uuid
        FROM charged c, json_to_recordset(c.inputs) AS i (role text, position smallint, upload_uuid uuid)
       WHERE c.inputs IS NOT NULL
    ), burn AS (
      INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description,
                                  generation_uuid, created_at)
      SELECT account_id, ledger_count, 'burn', -credits, -from_plan, balance, 'Generation: ' || model, uuid, created_at
        FROM charged WHERE NOT is_test
    ), usage AS (
      INSERT INTO usage_days AS u (account_id, day, model, credits, generations)
      SELECT account_id, cast(created_at AT TIME ZONE 'UTC' AS date), model, credits, 1 FROM charged
      ON CONFLICT (account_id, day, model)
      DO UPDATE SET credits = u.credits + excluded.credits, generations = u.generations + 1
    ), total AS (
      INSERT INTO usage_totals AS u (account_id, model, credits, generations)
      SELECT account_id, model, credits, 1 FROM charged
      ON CONFLICT (account_id, model)
      DO UPDATE SET credits = u.credits + excluded.credits, generations = u.generations + 1
    ), key_usage AS (
      INSERT INTO usage_keys AS u (account_id, key_number, credits, generations)
      SELECT account_id, api_key_number, credits, 1 FROM charged WHERE api_key_number IS NOT NULL
      ON CONFLICT (account_id, key_number)
      DO UPDATE SET credits = u.credits + excluded.credits, generations = u.generations + 1
    ), member_usage AS (
      INSERT INTO usage_members AS u (account_id, member_number, credits, generations)
      SELECT account_id, member_number, credits, 1 FROM charged WHERE has_members AND member_number IS NOT NULL
      ON CONFLICT (account_id, member_number)
      DO UPDATE SET credits = u.credits + excluded.credits, generations = u.generations + 1
    ), spent AS (
      UPDATE spending_limits l
         SET used = CASE WHEN d.starts THEN 0 ELSE l.used END + d.credits,
             window_start = d.start,
             generation_count_at_window_start =
               CASE WHEN d.starts THEN d.generation_count - 1 ELSE l.generation_count_at_window_start END
        FROM (SELECT p.account_id, p.number, w.start, p.window_start IS DISTINCT FROM w.start AS starts, c.credits,
                     c.generation_count
                FROM charged c
                JOIN spending_limits p
                  ON p.account_id = ANY (v_accounts) AND p.account_id = c.account_id AND p.credits IS NOT NULL
                 AND (p.key_number = c.api_key_number OR p.client_id = c.oauth_client_id
                      OR p.member_number = c.member_number)
               CROSS JOIN LATERAL (SELECT spending_window(p.period, p.window_start, c.created_at)) AS w (start)
               WHERE c.spending_limit_count > 0) d
       WHERE l.account_id = d.account_id AND l.number = d.number
    ), event AS (
      INSERT INTO outbox_events (account_id, type, subject, details, created_at)
      SELECT account_id, 'credits.low', cast(uuid AS text),
             jsonb_build_object('balance', balance, 'threshold', low_threshold), created_at
        FROM charged WHERE turns_low AND (p_sends_email OR webhook_count > 0)
    )
    SELECT d.uuid, CASE WHEN d.uuid = ANY (v_charged) THEN 'accepted' ELSE d.outcome END,
           d.outcome = 'accepted' AND d.leaves_low AND d.uuid <> ALL (v_charged)
      FROM decided d;
  END LOOP;
END
$$;
