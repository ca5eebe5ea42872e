import type { Knex } from 'knex';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';
import type { Plan } from '../../spec/plans.ts';

/** Time after which a request reaches a process of the new release, or the release is complete. */
const RETRY_AFTER_SECONDS = 10;

const FIND_RELEASED_PLAN = prepared(
  'find_released_plan',
  `SELECT EXISTS (
     SELECT FROM catalog_plans
      WHERE slug = :slug AND removed_at IS NULL AND price_monthly_cents = :monthlyCents
        AND price_yearly_cents = :yearlyCents AND monthly_credits = :credits AND parallel_limit = :parallelLimit
   ) AS is_released`,
);

/**
 * Rejects the sale of a plan by a process whose catalog is not the released one.
 * @param transaction one that has written the subscription: its trigger waits for a release in progress, so that the
 * terms cannot change after this check. Without one, the check is made before a payment is requested.
 * @throws ServiceError internal_error, temporary. An event of the payment processor is retried.
 */
export async function assertPlanReleased(plan: Plan, transaction?: Knex): Promise<void> {
  const bindings = {
    slug: plan.slug,
    monthlyCents: plan.priceMonthlyCents,
    yearlyCents: plan.priceYearlyCents,
    credits: plan.monthlyCredits,
    parallelLimit: plan.parallelLimit,
  };
  const [row] = await runStatement<{ is_released: boolean }>(FIND_RELEASED_PLAN, bindings, transaction);
  if (row?.is_released === true) return;
  logger.warn({ plan: plan.slug }, 'plan not sold; the CATALOG of this process was not released');
  throw new ServiceError('internal_error', `The ${plan.name} plan is being updated. Try again in some seconds.`, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
