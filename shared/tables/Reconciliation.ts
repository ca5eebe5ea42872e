import { Model } from 'objection';

/** Up to when the payment processor was asked for what it may have told us in vain. */
export class SyncCursor extends Model {
  static override tableName = 'reconciliations';
  static override idColumn = 'subject';

  declare subject: string;
  declare done_until: Date;
}
