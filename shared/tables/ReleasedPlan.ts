import { Model } from 'objection';

/** A plan that is or was part of the catalog. Its terms never change once it was released or sold. */
export class ReleasedPlan extends Model {
  static override tableName = 'catalog_plans';
  static override idColumn = 'slug';

  declare slug: string;
  declare name: string;
  declare price_monthly_cents: number;
  declare price_yearly_cents: number;
  declare monthly_credits: number;
  declare parallel_limit: number;
  /** First release of a CATALOG with this plan; null for a default plan that none contained. */
  declare released_at: Date | null;
  /** Time of the first subscription. */
  declare sold_at: Date | null;
  /** Time of the release that no longer contains it. */
  declare removed_at: Date | null;
}
