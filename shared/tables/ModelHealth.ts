import { Model } from 'objection';
import type { ModelSlug } from '../spec/catalog.ts';
import type { ModelStatus } from '../spec/states.ts';

/** What the workers' probes found out about a model's upstream. */
export class ModelHealth extends Model {
  static override tableName = 'model_health';
  static override idColumn = 'model';

  declare model: ModelSlug;
  declare status: ModelStatus;
  /** Failed probes in a row. */
  declare bad_probes: number;
  /** Good probes in a row. */
  declare good_probes: number;
  declare probed_at: Date;
  /** What the last failed probe met. */
  declare detail: string;
}
