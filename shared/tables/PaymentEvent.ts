import { Model } from 'objection';

/** What the payment processor has told us of, and whether it has been acted upon. */
export class PaymentEvent extends Model {
  static override tableName = 'payment_events';
  static override idColumn = 'event_id';

  declare event_id: string;
  declare type: string;
  /** Of what it is about; its state is asked for anew, never taken from the event. */
  declare object_id: string;
  declare payload: string;
  declare received_at: Date;
  declare processed_at: Date | null;
  /** When it was given up, after days of attempts that failed. */
  declare abandoned_at: Date | null;
  declare next_attempt_at: Date;
  declare attempts: number;
  /** Why the last attempt failed. */
  declare problem: string | null;
}
