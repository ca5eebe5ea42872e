-- Decides about requests to create generations, at most one of an account, in the order of precedence of the errors
-- (spec: Create rules; docs/decisions.md), and computes what a charge writes. It reads only: the charge calls it once
-- the accounts are locked, an estimate without.
--
-- A test account needs no subscription and pays nothing, and its upstream is not probed.
CREATE FUNCTION decide_creates(
  p_requests     json,
  p_accounts     bigint[],    -- their accounts; all others are not decided
  p_key_hashes   bytea[],     -- their API keys
  p_uploads      uuid[],      -- uploads that exist, of those in `inputs`
  p_now          timestamptz,
  p_probed_since timestamptz, -- upstreams that were not probed since are offline
  p_creators     text[]       -- roles of members that may create generations
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
  -- Its account, member and key.
  account_id      bigint,
  is_test         boolean,
  member_number   integer,
  has_members     boolean,     -- the account has had more than one
  api_key_number  integer,
  -- Its price, and how much of that the plan credits pay.
  credits         integer,
  from_plan       integer,
  leaves_low      boolean,     -- the balance that is left leads to an automatic top-up
  turns_low       boolean,     -- that balance is the first below the threshold of `credits.low`
  low_threshold   integer
) STABLE LANGUAGE sql AS $$
  SELECT CASE WHEN r.key_hash IS NOT NULL AND k.number IS NULL THEN 'invalid_api_key'
              WHEN r.session_hash IS NOT NULL
                   AND (SELECT true FROM sessions s
                         WHERE s.token_hash = decode(r.session_hash, 'hex') AND s.account_id = a.id
                           AND s.member_number = r.member_number) IS NULL
                THEN 'invalid_api_key'
              WHEN r.grant_uuid IS NOT NULL
                   AND (SELECT true FROM oauth_grants g
                         WHERE g.uuid = r.grant_uuid AND g.account_id = a.id AND g.member_number = r.member_number
                           AND g.revoked_at IS NULL) IS NULL
                THEN 'invalid_api_key'
              WHEN a.suspended_at IS NOT NULL THEN 'account_suspended'
              -- Without other members the owner makes the request.
              WHEN (a.member_count > 1 OR a.live_account_id IS NOT NULL)
                   AND (SELECT true FROM members m
                         WHERE m.account_id = coalesce(a.live_account_id, a.id) AND m.number = r.member_number
                           AND m.role <> ALL (p_creators))
                THEN 'role_changed'
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
              WHEN a.spending_limit_count > 0
                   AND (SELECT bool_or(CASE WHEN l.window_start IS DISTINCT FROM w.start THEN 0 ELSE l.used END
                                         + price.credits > l.credits)
                          FROM spending_limits l
                         CROSS JOIN LATERAL (SELECT spending_window(l.period, l.window_start, r.created_at)) AS w (start)
                         WHERE l.account_id = a.id
                           AND (l.key_number = k.number OR l.client_id = r.oauth_client_id
                                OR l.member_number = r.member_number))
                THEN 'spending_limit_reached'
              WHEN a.balance < price.credits THEN 'insufficient_credits'
              ELSE 'accepted' END,
         r.uuid, r.model, r.prompt, r.params, r.inputs, r.created_at, r.deadline_at, r.idempotency_key, r.webhook_url,
         r.metadata, r.catalog_id, r.upstream_order, r.oauth_client_id,
         a.id, a.live_account_id IS NOT NULL, r.member_number, a.member_count > 1, k.number,
         price.credits, least(a.plan_credits, price.credits),
         a.auto_topup_enabled AND a.balance - price.credits < a.auto_topup_threshold_credits,
         a.live_account_id IS NULL AND a.credits_low_since IS NULL AND a.balance - price.credits < low.threshold, low.threshold
    FROM json_to_recordset(p_requests) AS r (uuid uuid, account_id bigint, key_hash text, address inet,
           session_hash text, oauth_client_id text, grant_uuid uuid, member_number integer, model text, prompt text, params jsonb, inputs json,
           credits integer, created_at timestamptz, deadline_at timestamptz, idempotency_key text, webhook_url text,
           metadata jsonb, catalog_id bigint, upstream_order smallint[])
    JOIN accounts a ON a.id = ANY (p_accounts) AND a.id = r.account_id
    LEFT JOIN api_keys k
      ON k.key_hash = ANY (p_key_hashes) AND k.key_hash = decode(r.key_hash, 'hex')
     AND coalesce(k.test_account_id, k.account_id) = a.id AND k.revoked_at IS NULL
     AND (k.expires_at IS NULL OR k.expires_at > p_now)
   CROSS JOIN LATERAL (SELECT CASE WHEN a.live_account_id IS NULL THEN r.credits ELSE 0 END) AS price (credits)
   CROSS JOIN LATERAL (SELECT low_credits_threshold(a.credits_low_threshold, a.period_granted)) AS low (threshold)
$$;
