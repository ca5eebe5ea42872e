import { Model } from 'objection';
import type { WebhookEventType } from '../spec/events.ts';

/** An address that receives the events of an account, and the queue of its deliveries. */
export class WebhookEndpoint extends Model {
  static override tableName = 'webhook_endpoints';

  declare id: number;
  declare uuid: string;
  declare account_id: number;
  /** Null: the default endpoint, whose deliveries go to the `webhook_url` of single generations. */
  declare url: string | null;
  /** Types that it receives; null: all. */
  declare events: WebhookEventType[] | null;
  declare description: string;
  /** HMAC key and Ed25519 private key, encrypted if SECRET_KEY is set. */
  declare secret: string;
  declare private_key: string;
  /** `whpk_` and base64. */
  declare public_key: string;
  /** Keys before the last rotation, which sign as well until `previous_until`. */
  declare previous_secret: string | null;
  declare previous_private_key: string | null;
  declare previous_until: Date | null;
  /** First failed attempt since the last successful one. */
  declare failing_since: Date | null;
  /** Last event that was recorded before it was created or enabled: it receives those with a larger id. */
  declare after_event_id: number;
  declare disabled_at: Date | null;
  /** `gone`: the receiver answered 410. `failing`: all attempts of five days failed. */
  declare disabled_reason: 'owner' | 'gone' | 'failing' | null;
  /** When a delivery can be leased: the first one that waits is due, or the first lease ends. Null: none is pending. */
  declare next_delivery_at: Date | null;
  /** Deliveries that may be leased at a time. */
  declare concurrency: number;
  declare created_at: Date;
  declare updated_at: Date;
}
