-- Decides about requests to create generations, at most one of an account, in the order of precedence of the errors (spec:
-- Create rules; docs/decisions.md), and computes what a charge writes. It reads only: the charge calls it once the accounts
-- are locked, an estimate without.
--
-- A test account needs no subscription and pays nothing, and its upstream is not probed.
CREATE FUNCTION decide_creates(
  p_requests     json,
  p_accounts     bigint[],    -- their accounts; all others are not decided
  p_key_hashes   bytea[],     -- their API keys
  p_uploads      uuid[],      -- uploads that exist, of those in `inputs`
  p_now          timestamptz,
  p_probed_since timestamptz  -- upstreams that were not probed since are offline
) RETURNS TABLE (
  outcome         text,
  -- The request.
  uuid            uuid,
  model           text,
  prompt          text,
  params          jsonb,
  inputs          json,
  created_at      timestamptz,
  deadline_at     timestamptz,
  idempotency_key text,
  webhook_url     text,
  metadata        jsonb,
  catalog_id      bigint,
  upstream_order  smallint[],
  oauth_client_id text,
  -- Its account and key.
  account_id      bigint,
  is_test         boolean,
  api_key_number  integer,
  -- Its price, and how much of that the plan credits pay.
  credits         integer,
  from_plan       integer,
  leaves_low      boolean,     -- the balance that is left leads to an automatic top-up
  turns_low       boolean,     -- that balance is the first below the threshold of `credits.low`
  low_threshold   integer,
  -- Spending limit of the key or the application, if it has one, and the window that the charge belongs to.
  limit_number    integer,
  window_start    timestamptz,
  window_used     bigint,
  starts_window   boolean
) STABLE LANGUAGE sql AS $$
  SELECT CASE WHEN r.key_hash IS NOT NULL AND k.number IS NULL THEN 'invalid_api_key'
              WHEN r.session_hash IS NOT NULL
                   AND (SELECT true FROM sessions s WHERE s.token_hash = decode(r.session_hash, 'hex')) IS NULL
                THEN 'invalid_api_key'
              WHEN r.grant_uuid IS NOT NULL
                   AND (SELECT true FROM oauth_grants g
                         WHERE g.uuid = r.grant_uuid AND g.account_id = a.id AND g.revoked_at IS NULL) IS NULL
                THEN 'invalid_api_key'
              WHEN a.suspended_at IS NOT NULL THEN 'account_suspended'
              WHEN 'svc:write' <> ALL (k.scopes) OR r.model <> ALL (k.allowed_models)
                   OR (r.address <<= ANY (k.allowed_ips)) IS NOT TRUE AND k.allowed_ips IS NOT NULL
                THEN 'insufficient_scope'
              WHEN r.idempotency_key IS NOT NULL
                   AND (SELECT true FROM generations g
                         WHERE g.account_id = a.id AND g.idempotency_key = r.idempotency_key) THEN 'replayed'
              WHEN r.inputs IS NOT NULL
                   AND (SELECT bool_or(i.upload_uuid <> ALL (p_uploads))
                          FROM json_to_recordset(r.inputs) AS i (upload_uuid uuid)) THEN 'input_unavailable'
              WHEN a.live_account_id IS NULL AND (a.spendable_until IS NULL OR a.spendable_until <= p_now)
                   OR a.deletion_requested_at IS NOT NULL THEN 'subscription_required'
              WHEN a.live_account_id IS NULL
                   AND r.model NOT IN (SELECT h.model FROM upstream_health h
                                        WHERE h.status <> 'offline' AND h.probed_at > p_probed_since
                                          AND (h.circuit_open_until IS NULL OR h.circuit_open_until <= p_now))
                THEN 'model_unavailable'
              WHEN a.in_flight >= a.parallel_limit THEN 'parallel_limit_reached'
              WHEN w.used + price.credits > l.credits THEN 'spending_limit_reached'
              WHEN a.balance < price.credits THEN 'insufficient_credits'
              ELSE 'accepted' END,
         r.uuid, r.model, r.prompt, r.params, r.inputs, r.created_at, r.deadline_at, r.idempotency_key, r.webhook_url,
         r.metadata, r.catalog_id, r.upstream_order, r.oauth_client_id,
         a.id, a.live_account_id IS NOT NULL, k.number,
         price.credits, least(a.plan_credits, price.credits),
         a.auto_topup_enabled AND a.balance - price.credits < a.auto_topup_threshold_credits,
         a.live_account_id IS NULL AND a.credits_low_since IS NULL AND a.balance - price.credits < low.threshold, low.threshold,
         CASE WHEN l.credits IS NOT NULL THEN l.number END, w.start, w.used, w.is_new
    FROM json_to_recordset(p_requests) AS r (uuid uuid, account_id bigint, key_hash text, address inet,
           session_hash text, oauth_client_id text, grant_uuid uuid, model text, prompt text, params jsonb, inputs json,
           credits integer, created_at timestamptz, deadline_at timestamptz, idempotency_key text, webhook_url text,
           metadata jsonb, catalog_id bigint, upstream_order smallint[])
    JOIN accounts a ON a.id = ANY (p_accounts) AND a.id = r.account_id
    LEFT JOIN api_keys k
      ON k.key_hash = ANY (p_key_hashes) AND k.key_hash = decode(r.key_hash, 'hex')
     AND coalesce(k.test_account_id, k.account_id) = a.id AND k.revoked_at IS NULL
     AND (k.expires_at IS NULL OR k.expires_at > p_now)
    LEFT JOIN spending_limits l
      ON l.account_id = ANY (p_accounts) AND l.account_id = a.id AND a.spending_limit_count > 0
     AND (l.key_number = k.number OR l.client_id = r.oauth_client_id)
    -- A charge whose clock is behind that of an earlier one stays in the window of that one.
   CROSS JOIN LATERAL (SELECT CASE WHEN l.period <> 'total'
                                THEN greatest(l.window_start, date_trunc(l.period, r.created_at, 'UTC')) END) AS due (start)
   CROSS JOIN LATERAL (SELECT due.start, l.window_start IS DISTINCT FROM due.start,
                              CASE WHEN l.window_start IS DISTINCT FROM due.start THEN 0 ELSE l.used END)
                   AS w (start, is_new, used)
   CROSS JOIN LATERAL (SELECT CASE WHEN a.live_account_id IS NULL THEN r.credits ELSE 0 END) AS price (credits)
   CROSS JOIN LATERAL (SELECT low_credits_threshold(a.credits_low_threshold, a.period_granted)) AS low (threshold)
$$;
