import { Model } from 'objection';

/** The models of a catalog, as a release step has stored them. */
export class CatalogRelease extends Model {
  static override tableName = 'catalog_releases';

  /** Hash of the body. */
  declare id: number;
  /** Definitions by slug. */
  declare body: Record<string, unknown>;
  /** Last time that it was released. */
  declare released_at: Date;
}
