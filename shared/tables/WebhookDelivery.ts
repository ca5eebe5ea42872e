import { Model } from 'objection';

/** An attempt of a delivery, as `attempt_log` stores it. */
export interface DeliveryAttempt {
  /** `webhook-timestamp` is this in seconds. */
  sent_at: string;
  duration_ms: number;
  /** HTTP status; null if there was no response. */
  status: number | null;
  error: string | null;
  /** `webhook-signature`; null if nothing was sent. */
  signature: string | null;
  /** Beginning of the response. Null if it is empty or not text. */
  response_body: string | null;
  response_is_binary: boolean;
}

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
  /** Process that attempts it; null if none does. */
  declare leased_by: string | null;
  /** End of its lease. */
  declare leased_until: Date | null;
  declare last_attempt_at: Date | null;
  /** HTTP status of the last attempt; null if there was no response. */
  declare last_status: number | null;
  declare last_error: string | null;
  declare delivered_at: Date | null;
  /** The latest attempts, oldest first. */
  declare attempt_log: DeliveryAttempt[];
  declare created_at: Date;
}
