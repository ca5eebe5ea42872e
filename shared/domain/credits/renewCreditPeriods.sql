-- Renews the periods of accounts that the transaction has locked, each by a month: the plan credits expire, at most a
-- month's worth of them rolls over, and the next month is granted, as ledger entries in this order. Decides by what was
-- committed before it began, so that a month is not granted twice; the effect key makes a grant unique, too.
--
-- Returns the number of renewed accounts, the last end of their periods, and the accounts that are not due, such as
-- those without a plan for their next month.
--
-- Only paid months are granted, by the plan history and with the credits of the released plan, whatever catalog a
-- process has.
CREATE FUNCTION renew_credit_periods(p_accounts bigint[], p_until timestamptz, p_now timestamptz)
RETURNS TABLE (accounts integer, last_end timestamptz, skipped bigint[]) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY
  WITH due AS MATERIALIZED (
    SELECT a.id, a.plan_credits, a.topup_credits, a.ledger_count, a.generation_count, a.period_end, a.webhook_count,
           a.period_index + 1 AS month,
           least(a.plan_credits, a.period_granted) AS carried, plan.credits AS granted, plan.name AS plan_name,
           a.topup_credits + least(a.plan_credits, a.period_granted) + plan.credits AS balance,
           s.uuid AS subscription, s.started_at
      FROM accounts a
      JOIN subscriptions s ON s.id = a.subscription_id AND s.status = 'active' AND a.period_end < s.paid_until
     CROSS JOIN LATERAL month_plan(s.id, s.started_at, a.period_index + 1) plan
     WHERE a.id = ANY (p_accounts) AND a.plan_slug IS NOT NULL AND a.period_end <= p_until
  ), renewed AS (
    UPDATE accounts a
       SET balance = due.balance,
           plan_credits = due.carried + due.granted,
           ledger_count = due.ledger_count + 1 + cast(due.plan_credits > 0 AS integer) + cast(due.carried > 0 AS integer),
           period_index = due.month,
           period_start = due.period_end,
           period_end = month_start(due.started_at, due.month + 1),
           period_granted = due.granted,
           period_rollover = due.carried,
           generation_count_at_period_start = due.generation_count,
           period_used = 0
      FROM due WHERE a.id = due.id
  ), entry AS (
    INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description,
                                effect_key, created_at)
    SELECT due.id, due.ledger_count + e.position, e.type, e.amount, e.amount, e.balance_after, e.description,
           e.type || ':' || due.subscription || ':' || due.month, p_now
      FROM due, LATERAL (VALUES
             (1, 'expiry', -due.plan_credits, due.topup_credits, 'Unspent plan credits of the month'),
             (2, 'rollover', due.carried, due.topup_credits + due.carried, 'Rolled over from the month before'),
             (1 + cast(due.plan_credits > 0 AS integer) + cast(due.carried > 0 AS integer), 'grant', due.granted,
              due.balance, 'Monthly credits: ' || due.plan_name || ' plan')
           ) AS e (position, type, amount, balance_after, description)
     WHERE e.amount <> 0
  ), event AS (
    INSERT INTO outbox_events (account_id, type, subject, created_at)
    SELECT due.id, 'credits.granted', 'grant:' || due.subscription || ':' || due.month, p_now
      FROM due WHERE due.webhook_count > 0
    ON CONFLICT (account_id, type, subject) DO NOTHING
  )
  SELECT cast(count(*) AS integer), max(due.period_end),
         ARRAY (SELECT id FROM unnest(p_accounts) AS id WHERE id NOT IN (SELECT due.id FROM due))
    FROM due;
END
$$;
