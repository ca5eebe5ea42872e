import { Model } from 'objection';

/** Time up to which a subject was reconciled with the payment processor. */
export class SyncCursor extends Model {
  static override tableName = 'sync_cursors';
  static override idColumn = 'subject';

  declare subject: string;
  declare synced_through: Date;
}
