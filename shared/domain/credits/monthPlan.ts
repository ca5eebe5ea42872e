/** Columns or expressions that name a month of a subscription. */
interface MonthColumns {
  subscriptionId: string;
  startedAt: string;
  /** Number of the month, from 0. */
  month: string;
}

/** Builds the start of a month of a subscription. Months are counted from its start, so that a clamped end shifts none. */
export const buildMonthStart = (startedAt: string, month: string) =>
  `(${startedAt} AT TIME ZONE 'UTC' + make_interval(months => cast(${month} AS int))) AT TIME ZONE 'UTC'`;

/** Builds the order of the plans of a subscription that apply at a time: the first one counts. */
export const buildPlanOrder = (paid: string) =>
  `${paid}.applies_from DESC, ${paid}.stripe_invoice_id IS NULL, ${paid}.id DESC`;

/**
 * Builds the query for the plan whose credits a month of a subscription grants (docs/credits.md: Changing or ending a
 * plan): the one that applied at its start, or a larger one that was paid in it, except in the last month of a year. A
 * payment that was wholly returned before the month's end counts only if no other is left: the year was not ended for it.
 */
export function buildMonthPlan({ subscriptionId, startedAt, month }: MonthColumns): string {
  const start = buildMonthStart(startedAt, month);
  const end = buildMonthStart(startedAt, `${month} + 1`);
  const isKept = `(paid.returned_at IS NULL OR paid.returned_at >= ${end})`;
  return `
    SELECT month_plan.slug, month_plan.name, month_plan.monthly_credits AS credits
      FROM (SELECT plan.slug, plan.name, plan.monthly_credits, paid.applies_from > ${start} AS is_upgrade, ${isKept} AS is_kept,
                   row_number() OVER (PARTITION BY paid.applies_from > ${start}, ${isKept}
                     ORDER BY ${buildPlanOrder('paid')}) AS place
              FROM subscription_plans paid JOIN catalog_plans plan ON plan.slug = paid.plan_slug
             WHERE paid.subscription_id = ${subscriptionId}
               AND paid.applies_from < ${end} AND paid.applies_until > ${start}) month_plan
     WHERE CASE WHEN month_plan.is_upgrade THEN month_plan.is_kept AND (${month}) % 12 <> 11 ELSE month_plan.place = 1 END
     ORDER BY month_plan.is_kept DESC, month_plan.monthly_credits DESC LIMIT 1`;
}
