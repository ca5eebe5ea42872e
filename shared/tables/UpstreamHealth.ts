import { Model } from 'objection';
import type { ModelSlug } from '../spec/catalog.ts';
import type { ModelStatus } from '../spec/states.ts';

/** Health of one of a model's upstreams, as recorded by the workers' probes. */
export class UpstreamHealth extends Model {
  static override tableName = 'upstream_health';
  static override idColumn = ['model', 'position'];

  declare model: ModelSlug;
  /** 0 for the first choice of the model, from 1 for its fallbacks. */
  declare position: number;
  /** `name:model id`. */
  declare upstream: string;
  declare status: ModelStatus;
  /** Consecutive failed probes. */
  declare consecutive_failures: number;
  /** Consecutive successful probes. */
  declare consecutive_successes: number;
  declare probed_at: Date;
  /** Error of the last failed probe. */
  declare detail: string;
  /** End of the open circuit, after an error that probes do not detect. It counts as offline until then. */
  declare circuit_open_until: Date | null;
  /** Time of the first account error since the last accepted submit. */
  declare account_error_at: Date | null;
  /** Account of that generation. */
  declare account_error_account_id: number | null;
  /** Time of the first submit that it accepted after an account error. */
  declare accepted_at: Date | null;
}
