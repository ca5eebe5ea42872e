import { Model } from 'objection';
import type { ModelSlug } from '../spec/catalog.ts';

/** What an account spent on a model on one UTC day, less refunds; kept by the charge itself. */
export class UsageDay extends Model {
  static override tableName = 'usage_days';
  static override idColumn = ['account_id', 'day', 'model'];

  declare account_id: number;
  declare day: string;
  declare model: ModelSlug;
  declare credits: number;
  declare generations: number;
}
