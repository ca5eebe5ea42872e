-- Returns the plan whose credits a month of a subscription grants (docs/credits.md: Changing or ending a plan): the one
-- that applied at its start, or a larger one that was paid in it, except in the last month of a year. A payment that
-- was wholly returned before the month's end counts only if no other is left: the year was not ended for it. No row
-- without a plan.
CREATE FUNCTION month_plan(p_subscription bigint, p_started_at timestamptz, p_month integer)
RETURNS TABLE (slug text, name text, credits integer) LANGUAGE sql STABLE AS $$
  WITH month AS (
    SELECT month_start(p_started_at, p_month) AS starts_at, month_start(p_started_at, p_month + 1) AS ends_at
  ), paid AS (
    SELECT p.plan_slug, p.applies_from > starts_at AS is_upgrade, coalesce(p.returned_at >= ends_at, true) AS is_kept,
           row_number() OVER (PARTITION BY p.applies_from > starts_at, coalesce(p.returned_at >= ends_at, true)
             -- The order of PLAN_ORDER in billing/planHistory.ts.
             ORDER BY p.applies_from DESC, p.stripe_invoice_id IS NULL, p.id DESC) AS place
      FROM month, subscription_plans p
     WHERE p.subscription_id = p_subscription AND p.applies_from < ends_at AND p.applies_until > starts_at
  )
  SELECT plan.slug, plan.name, plan.monthly_credits
    FROM paid JOIN catalog_plans plan ON plan.slug = paid.plan_slug
   WHERE CASE WHEN is_upgrade THEN is_kept AND p_month % 12 <> 11 ELSE place = 1 END
   ORDER BY is_kept DESC, plan.monthly_credits DESC LIMIT 1
$$;
