import { Model } from 'objection';

/** A requested deletion of an account that is not completed. The row is deleted with its last step. */
export class AccountDeletion extends Model {
  static override tableName = 'account_deletions';
  static override idColumn = 'account_id';

  declare account_id: number;
  /**
   * - `pending`: can be undone until `erase_at`.
   * - `undone`: the renewal of the subscription is still to be resumed at the processor.
   * - `erasing`: is carried out and can no longer be undone.
   */
  declare status: 'pending' | 'undone' | 'erasing';
  declare requested_at: Date;
  declare erase_at: Date;
  /** Subscription whose renewal the deletion stops, and an undo resumes; null if there was none to stop. */
  declare subscription_id: number | null;
}
