import { Model } from 'objection';

/** An event of the payment processor. A task applies it. */
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
}
