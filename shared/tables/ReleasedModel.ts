import { Model } from 'objection';
import type { ModelKind } from '../spec/catalog.ts';

/** A model that is or was part of the catalog. */
export class ReleasedModel extends Model {
  static override tableName = 'catalog_models';
  static override idColumn = 'slug';

  declare slug: string;
  declare uuid: string;
  declare kind: ModelKind;
  declare name: string;
  declare released_at: Date;
  /** Time of the release that no longer contains it. */
  declare removed_at: Date | null;
}
