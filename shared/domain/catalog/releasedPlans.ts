import type { Knex } from 'knex';
import { getCatalog } from '../../lib/catalog/catalog.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';
import type { Plan } from '../../spec/plans.ts';

/** Time after which a retry may reach another process, or find the release complete. */
const RETRY_AFTER_SECONDS = 60;

const COUNT_RELEASED_PLANS = prepared(
  'count_released_plans',
  `SELECT cast(count(own.slug) AS int) AS released,
          cast(count(own.slug) FILTER (WHERE p.removed_at IS NULL) AS int) AS current,
          cast(count(*) FILTER (WHERE p.removed_at IS NULL) AS int) AS of_last_release
     FROM catalog_plans p
     LEFT JOIN json_to_recordset(:plans) AS own (slug text, monthly_cents integer, yearly_cents integer,
                                                 credits integer, parallel_limit integer)
       ON own.slug = p.slug AND own.monthly_cents = p.price_monthly_cents AND own.yearly_cents = p.price_yearly_cents
      AND own.credits = p.monthly_credits AND own.parallel_limit = p.parallel_limit`,
);

/**
 * Numbers of plans that were released with the same terms, that the last release contains, and of all that it contains.
 */
interface PlanCounts {
  released: number;
  current: number;
  of_last_release: number;
}

/**
 * Returns whether all plans of this process were released with the same terms. A later release may have removed some,
 * as during a deployment.
 */
export async function arePlansReleased(): Promise<boolean> {
  const { plans } = getCatalog();
  return (await countReleased(plans)).released === plans.length;
}

/** Returns whether the plans of this process are exactly those of the last release. */
export async function arePlansOfLastRelease(): Promise<boolean> {
  const { plans } = getCatalog();
  const counts = await countReleased(plans);
  return counts.current === plans.length && counts.of_last_release === plans.length;
}

/**
 * Rejects the sale of a plan, and of credits at its rate, by a process whose catalog is not the released one.
 * @param transaction one that has written the subscription: its trigger waits for a release in progress, so that the
 * terms cannot change after this check. Without one, the check is made before a payment is requested.
 * @throws ServiceError internal_error, temporary. An event of the payment processor is retried.
 */
export async function requireReleasedPlan(plan: Plan, transaction?: Knex): Promise<void> {
  if ((await countReleased([plan], transaction)).current === 1) return;
  logger.warn({ plan: plan.slug }, 'plan not sold; it was not released with the CATALOG of this process');
  throw new ServiceError('internal_error', `The ${plan.name} plan is being updated. Try again in a minute.`, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

async function countReleased(plans: readonly Plan[], transaction?: Knex): Promise<PlanCounts> {
  const rows = plans.map((plan) => ({
    slug: plan.slug,
    monthly_cents: plan.priceMonthlyCents,
    yearly_cents: plan.priceYearlyCents,
    credits: plan.monthlyCredits,
    parallel_limit: plan.parallelLimit,
  }));
  const [counts] = await runStatement<PlanCounts>(COUNT_RELEASED_PLANS, { plans: JSON.stringify(rows) }, transaction);
  return counts as PlanCounts;
}
