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
  /** After a refund or a dispute. */
  declare credits_taken_back: number;
  /** How often that has changed: names each change. */
  declare adjustments: number;
  declare sync_ticket: number;
  declare created_at: Date;
  declare completed_at: Date | null;
}
