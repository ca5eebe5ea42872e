import type { Knex } from 'knex';
import { type Catalog, getDefinitions } from '../../lib/catalog/catalog.ts';
import { ConfigError } from '../../lib/config.ts';
import { DEFAULT_PLANS, type Plan } from '../../spec/plans.ts';
import type { ReleasedModel } from '../../tables/ReleasedModel.ts';
import type { ReleasedPlan } from '../../tables/ReleasedPlan.ts';

/** Key of the advisory lock that serializes releases. An arbitrary constant, used for nothing else. */
const ADVISORY_LOCK = 7_206_512_002;

/**
 * Stores a catalog, so that processes with another one can run its generations, its models, so that their names remain
 * known, and its plans. Part of the release step; can be repeated.
 * @throws ConfigError if a slug or a UUID belongs to another model, or a plan that was sold is changed or removed.
 */
export async function releaseCatalog(db: Knex, catalog: Catalog): Promise<void> {
  await db.transaction(async (transaction) => {
    await transaction.raw('SELECT pg_advisory_xact_lock(?)', [ADVISORY_LOCK]);
    const released = await transaction<ReleasedModel>('catalog_models').select('slug', 'uuid', 'kind');
    checkIdentities(catalog, released);
    await releasePlans(transaction, catalog.plans);
    await storeModels(transaction, catalog);
    await transaction.raw(
      `INSERT INTO catalog_releases (id, body, released_at) VALUES (?, ?, clock_timestamp())
       ON CONFLICT (id) DO UPDATE SET released_at = excluded.released_at`,
      [catalog.releaseId, JSON.stringify(getDefinitions(catalog.models))],
    );
  });
}

/** Slugs are part of requests and generations, so they are never reused for another model. */
function checkIdentities({ models }: Catalog, released: Pick<ReleasedModel, 'slug' | 'uuid' | 'kind'>[]): void {
  for (const { slug, uuid, kind } of models) {
    const path = `CATALOG/models/${slug}`;
    const known = released.find((model) => model.slug === slug);
    if (known !== undefined && known.kind !== kind)
      throw new ConfigError(
        `${path}/kind must be ${known.kind}, because ${slug} was released so: give the new model another slug.`,
      );
    if (known !== undefined && known.uuid !== uuid)
      throw new ConfigError(
        `${path}/uuid must be ${known.uuid}, because ${slug} was released with it: give the new model another slug.`,
      );
    const other = released.find((model) => model.uuid === uuid && model.slug !== slug);
    if (other !== undefined)
      throw new ConfigError(`${path}/uuid must be another one, because ${other.slug} was released with it.`);
  }
}

async function storeModels(transaction: Knex.Transaction, { models }: Catalog): Promise<void> {
  const rows = models.map(({ slug, uuid, kind, name }) => ({ slug, uuid, kind, name }));
  await transaction.raw(
    `INSERT INTO catalog_models AS m (slug, uuid, kind, name, released_at)
     SELECT slug, uuid, kind, name, clock_timestamp()
       FROM json_to_recordset(cast(? AS json)) AS r (slug text, uuid uuid, kind text, name text)
     ON CONFLICT (slug) DO UPDATE SET name = excluded.name, removed_at = NULL`,
    [JSON.stringify(rows)],
  );
  await transaction.raw(
    'UPDATE catalog_models SET removed_at = clock_timestamp() WHERE removed_at IS NULL AND NOT slug = ANY (cast(? AS text[]))',
    [rows.map(({ slug }) => slug)],
  );
}

/** The part of a plan that subscribers pay for. Grants, top-up rates and the invariants of the ledger depend on it. */
type PlanTerms = Pick<
  ReleasedPlan,
  'price_monthly_cents' | 'price_yearly_cents' | 'monthly_credits' | 'parallel_limit'
>;

/**
 * Stores the plans of a catalog in the transaction of a release. The terms of a released plan never change, and a plan
 * that was sold is never removed. A default plan counts as released once a CATALOG contains it, or it was sold.
 * @throws ConfigError
 */
async function releasePlans(transaction: Knex.Transaction, plans: readonly Plan[]): Promise<void> {
  // The first subscription to a plan waits for the release, and the release for one in progress.
  await transaction.raw('LOCK TABLE catalog_plans IN SHARE ROW EXCLUSIVE MODE');
  for (const released of await transaction<ReleasedPlan>('catalog_plans').orderBy('slug'))
    checkReleasedPlan(
      released,
      plans.find(({ slug }) => slug === released.slug),
    );
  const rows = plans.map((plan) => ({ slug: plan.slug, name: plan.name, ...getTerms(plan) }));
  await transaction.raw(
    `INSERT INTO catalog_plans AS p (slug, name, price_monthly_cents, price_yearly_cents, monthly_credits, parallel_limit,
                                     released_at)
     SELECT slug, name, price_monthly_cents, price_yearly_cents, monthly_credits, parallel_limit,
            CASE WHEN cast(? AS boolean) THEN clock_timestamp() END
       FROM json_to_recordset(cast(? AS json)) AS r (slug text, name text, price_monthly_cents integer, price_yearly_cents integer,
                                       monthly_credits integer, parallel_limit integer)
     ON CONFLICT (slug) DO UPDATE
       SET name = excluded.name, price_monthly_cents = excluded.price_monthly_cents,
           price_yearly_cents = excluded.price_yearly_cents, monthly_credits = excluded.monthly_credits,
           parallel_limit = excluded.parallel_limit, released_at = coalesce(p.released_at, excluded.released_at),
           removed_at = NULL`,
    [plans !== DEFAULT_PLANS, JSON.stringify(rows)],
  );
  await transaction.raw(
    'UPDATE catalog_plans SET removed_at = clock_timestamp() WHERE removed_at IS NULL AND NOT slug = ANY (cast(? AS text[]))',
    [rows.map(({ slug }) => slug)],
  );
}

function checkReleasedPlan(released: ReleasedPlan, plan: Plan | undefined): void {
  const { slug, released_at: releasedAt, sold_at: soldAt } = released;
  if (plan === undefined) {
    if (soldAt === null) return;
    throw new ConfigError(
      `CATALOG/plans must contain ${slug}, because accounts have subscribed to it: set its hidden to true to stop selling it.`,
    );
  }
  if (releasedAt === null && soldAt === null) return;
  for (const [name, value] of Object.entries(getTerms(plan)) as [keyof PlanTerms, number][]) {
    if (released[name] === value) continue;
    throw new ConfigError(
      `CATALOG/plans/${slug}/${name} was released as ${released[name]} and cannot change, because ${soldAt === null ? 'subscribers may' : 'subscribers'} have it: add a plan with another slug and hide this one.`,
    );
  }
}

/** The yearly price is last, because it follows from the monthly one, which a message should name. */
function getTerms(plan: Plan): PlanTerms {
  return {
    price_monthly_cents: plan.priceMonthlyCents,
    monthly_credits: plan.monthlyCredits,
    parallel_limit: plan.parallelLimit,
    price_yearly_cents: plan.priceYearlyCents,
  };
}
