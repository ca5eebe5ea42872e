/** Replaces the plan history: each subscription has had its plan from its start. */
export const REWRITE_PLAN_HISTORY = `
  DELETE FROM subscription_plans;
  INSERT INTO subscription_plans (subscription_id, plan_slug, applies_from, applies_until)
  SELECT id, plan_slug, started_at, greatest(paid_until, current_period_end) FROM subscriptions`;
