import { Model } from 'objection';

/** The delivery of one event to one endpoint, with its attempts. */
export class WebhookDelivery extends Model {
  static override tableName = 'webhook_deliveries';

  declare id: number;
  declare uuid: string;
  declare endpoint_id: number;
  declare event_id: number;
  /** Address of a delivery of the default endpoint; null: that of the endpoint. */
  declare url: string | null;
  declare status: 'pending' | 'succeeded' | 'failed';
  /** Attempts of the current round; a redelivery starts from 0. */
  declare attempts: number;
  /** Null unless pending. */
  declare next_attempt_at: Date | null;
  declare last_attempt_at: Date | null;
  /** HTTP status of the last attempt; null if there was no response. */
  declare last_status: number | null;
  declare last_error: string | null;
  declare delivered_at: Date | null;
  declare created_at: Date;
}
