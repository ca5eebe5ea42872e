import type { Knex } from 'knex';
import type { Plan } from '../../spec/plans.ts';

/** A catalog that cannot be released. The message is one sentence that names the path. */
export class PlanReleaseError extends Error {}

/** A row of `catalog_plans`. */
interface ReleasedPlan {
  slug: string;
  price_monthly_cents: number;
  price_yearly_cents: number;
  monthly_credits: number;
  parallel_limit: number;
  released_at: Date | null;
  sold_at: Date | null;
}

/** What subscribers were promised. Prices, grants, top-up rates and the checks of the ledger depend on it. */
type PlanTerms = Pick<ReleasedPlan, 'price_monthly_cents' | 'price_yearly_cents' | 'monthly_credits' | 'parallel_limit'>;

/**
 * Stores the plans of a catalog as part of a release. Terms of a released plan never change, and a plan that was sold
 * is never removed. A default plan counts as released once a configured catalog contains it or it is sold.
 * @param isDefault whether the plans are the default ones.
 * @throws PlanReleaseError
 */
export async function releasePlans(
  transaction: Knex.Transaction,
  plans: readonly Plan[],
  isDefault: boolean,
): Promise<void> {
  // A first subscription waits for the release, and the release for subscriptions in progress.
  await transaction.raw('LOCK TABLE catalog_plans IN SHARE ROW EXCLUSIVE MODE');
  const known = await transaction<ReleasedPlan>('catalog_plans').select('*').orderBy('slug');
  for (const row of known) {
    const plan = plans.find(({ slug }) => slug === row.slug);
    if (plan === undefined) requireUnsold(row);
    else if (row.released_at !== null || row.sold_at !== null) requireSameTerms(row, plan);
  }
  const at = new Date();
  for (const plan of plans) {
    await transaction('catalog_plans')
      .insert({
        slug: plan.slug,
        name: plan.name,
        ...toTerms(plan),
        released_at: isDefault ? null : at,
        removed_at: null,
      })
      .onConflict('slug')
      .merge({
        name: plan.name,
        ...toTerms(plan),
        released_at: isDefault
          ? transaction.raw('catalog_plans.released_at')
          : transaction.raw('coalesce(catalog_plans.released_at, excluded.released_at)'),
        removed_at: null,
      });
  }
  await transaction('catalog_plans')
    .whereNotIn(
      'slug',
      plans.map(({ slug }) => slug),
    )
    .whereNull('removed_at')
    .update({ removed_at: at });
}

function requireUnsold({ slug, sold_at: soldAt }: ReleasedPlan): void {
  if (soldAt === null) return;
  throw new PlanReleaseError(
    `CATALOG/plans must contain ${slug}, because accounts have subscribed to it: set its hidden to true to stop selling it.`,
  );
}

function requireSameTerms(row: ReleasedPlan, plan: Plan): void {
  const terms = toTerms(plan);
  for (const name of Object.keys(terms) as (keyof PlanTerms)[]) {
    if (row[name] === terms[name]) continue;
    throw new PlanReleaseError(
      `CATALOG/plans/${plan.slug}/${name} was released as ${row[name]} and cannot change, because subscribers have it: add a plan with another slug and hide this one.`,
    );
  }
}

/** The yearly price is last: it follows from the monthly one, which the message should name. */
function toTerms(plan: Plan): PlanTerms {
  return {
    price_monthly_cents: plan.priceMonthlyCents,
    monthly_credits: plan.monthlyCredits,
    parallel_limit: plan.parallelLimit,
    price_yearly_cents: plan.priceYearlyCents,
  };
}
