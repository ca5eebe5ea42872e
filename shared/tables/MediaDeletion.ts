import { Model } from 'objection';

/** Pending deletion of all files of a generation. The row is deleted with them. */
export class MediaDeletion extends Model {
  static override tableName = 'media_deletions';
  static override idColumn = 'media_token';

  declare media_token: string;
  declare next_attempt_at: Date;
}
