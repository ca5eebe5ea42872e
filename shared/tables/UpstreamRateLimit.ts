import { Model } from 'objection';

/** Rate limit state of an upstream. Its row is locked while generations are claimed for the upstream. */
export class UpstreamRateLimit extends Model {
  static override tableName = 'upstream_rate_limits';
  static override idColumn = 'upstream';

  declare upstream: string;
  /** Theoretical arrival time (GCRA) of the next submit. */
  declare theoretical_arrival_at: Date;
}
