import { Model } from 'objection';
import type { ModelSlug } from '../spec/catalog.ts';
import type { ModelStatus } from '../spec/states.ts';

/** What the workers' probes found out about one of a model's upstreams. */
export class UpstreamHealth extends Model {
  static override tableName = 'upstream_health';
  static override idColumn = ['model', 'position'];

  declare model: ModelSlug;
  /** 0 is the first choice of the model, 1 its fallback. */
  declare position: number;
  /** `name:model id`. */
  declare upstream: string;
  declare status: ModelStatus;
  /** Failed probes in a row. */
  declare consecutive_failures: number;
  /** Good probes in a row. */
  declare consecutive_successes: number;
  declare probed_at: Date;
  /** What the last failed probe met. */
  declare detail: string;
  /** It turned us away for reasons that probes do not see: it counts as offline until then. */
  declare circuit_open_until: Date | null;
}
