import { Model } from 'objection';

/** A run of no account, which a member of staff sent to an upstream to see whether it works. */
export class UpstreamTrial extends Model {
  static override tableName = 'upstream_trials';
  static override idColumn = 'uuid';

  declare uuid: string;
  /** `name:model id`. */
  declare upstream: string;
  declare prompt: string;
  declare requested_by: number;
  declare requested_at: Date;
  declare started_at: Date | null;
  declare ended_at: Date | null;
  /** Requests, responses and states, a line each, without secrets. */
  declare steps: string[];
  declare media_token: string;
  /** Relative to CDN_URL, like `thumbnail_path`; null without a file. */
  declare output_path: string | null;
  declare thumbnail_path: string | null;
}
