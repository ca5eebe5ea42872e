import { Model } from 'objection';
import type { ModelSlug } from '../spec/catalog.ts';

/** What an account has spent on a model in all, less refunds; kept by the charge itself. */
export class UsageTotal extends Model {
  static override tableName = 'usage_totals';
  static override idColumn = ['account_id', 'model'];

  declare account_id: number;
  declare model: ModelSlug;
  declare credits: number;
  declare generations: number;
}
