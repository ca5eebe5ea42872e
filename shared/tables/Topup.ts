import { Model } from 'objection';

/** One payment for credits, from the moment it is begun. */
export class Topup extends Model {
  static override tableName = 'topups';
  static override idColumn = 'uuid';

  declare uuid: string;
  declare account_id: number;
  declare kind: 'manual' | 'automatic';
  declare status: 'pending' | 'succeeded' | 'failed';
  declare amount_cents: number;
  /** Fixed when the payment is begun. */
  declare credits: number;
  declare stripe_session_id: string | null;
  declare stripe_payment_intent_id: string | null;
  declare failure: string | null;
  /** What was refunded, or is disputed and not won back. */
  declare reversed_cents: number;
  /** Whether the payment was disputed at the last look. */
  declare is_disputed: boolean;
  /** Of the credits, for what was reversed: as far as they were there. */
  declare credits_reversed: number;
  /** How often that has changed: names each change. */
  declare reversal_count: number;
  declare sync_version: number;
  /** When it is looked at again while it is pending. */
  declare next_attempt_at: Date;
  declare created_at: Date;
  declare completed_at: Date | null;
}
