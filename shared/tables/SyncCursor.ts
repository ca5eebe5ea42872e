import { Model } from 'objection';

/** Up to when the payment processor was asked for what it may have told us in vain. */
export class SyncCursor extends Model {
  static override tableName = 'sync_cursors';
  static override idColumn = 'subject';

  declare subject: string;
  declare synced_through: Date;
}
