import { Model } from 'objection';

/** An event of the payment processor, and the state of its processing. */
export class PaymentEvent extends Model {
  static override tableName = 'payment_events';
  static override idColumn = 'event_id';

  declare event_id: string;
  declare type: string;
  /** Id of the object. Its state is fetched from the processor, never taken from the event. */
  declare object_id: string;
  declare payload: string;
  declare received_at: Date;
  declare processed_at: Date | null;
  /** Time at which processing was given up, after days of failed attempts. */
  declare abandoned_at: Date | null;
  declare next_attempt_at: Date;
  declare attempts: number;
  /** Error of the last attempt. */
  declare last_error: string | null;
}
