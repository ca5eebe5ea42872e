import type { Queryable } from '../../../../shared/domain/invariant.ts';

/** A dispatch reads the endpoints at most this long after it has marked its events. */
export const DISPATCH_TRANSACTION_MS = 10_000;

/** The end of a generation. Times are by the clock of Postgres, in milliseconds, as of `Date.now`. */
export interface RecordedEnd {
  uuid: string;
  account_uuid: string;
  status: 'succeeded' | 'failed';
  prompt: string;
  /** Start of the statement that ended it. */
  began_at: number;
}

/** An event of the outbox, which the service may have deleted since. Times as above. */
export interface RecordedEvent {
  event: string;
  account_uuid: string;
  type: string;
  subject: string;
  recorded_at: number;
  /** Null: not dispatched. */
  dispatched_at: number | null;
}

/** A delivery of an endpoint that still exists. */
export interface RecordedDelivery {
  event: string;
  endpoint: string;
  /** True for the default endpoint of an account. */
  is_default: boolean;
  account_uuid: string;
  status: 'pending' | 'succeeded' | 'failed';
}

export interface RecordedEndpoint {
  uuid: string;
  url: string;
  events: string[] | null;
  disabled_reason: string | null;
}

/** The database's side of all webhooks, from the audit log of chaos and the tables of the service. */
export interface RecordedWebhooks {
  ends: RecordedEnd[];
  events: RecordedEvent[];
  deliveries: RecordedDelivery[];
  endpoints: RecordedEndpoint[];
}

export async function readRecordedWebhooks(client: Queryable): Promise<RecordedWebhooks> {
  const ends = await client.query(
    `SELECT n.generation AS uuid, a.uuid AS account_uuid, n.status, p.prompt,
            extract(epoch FROM n.began_at)::float8 * 1000 AS began_at
       FROM chaos.ends n JOIN accounts a ON a.id = n.account JOIN chaos.prompts p ON p.generation = n.generation`,
  );
  const events = await client.query(
    `SELECT e.event, a.uuid AS account_uuid, e.type, e.subject,
            extract(epoch FROM e.recorded_at)::float8 * 1000 AS recorded_at,
            extract(epoch FROM e.dispatched_at)::float8 * 1000 AS dispatched_at
       FROM chaos.events e JOIN accounts a ON a.id = e.account`,
  );
  const deliveries = await client.query(
    `SELECT o.uuid AS event, w.uuid AS endpoint, w.url IS NULL AS is_default, a.uuid AS account_uuid, d.status
       FROM webhook_deliveries d
       JOIN outbox_events o ON o.id = d.event_id
       JOIN webhook_endpoints w ON w.id = d.endpoint_id
       JOIN accounts a ON a.id = w.account_id`,
  );
  const endpoints = await client.query(
    'SELECT uuid, url, events, disabled_reason FROM webhook_endpoints WHERE url IS NOT NULL',
  );
  return { ends: ends.rows, events: events.rows, deliveries: deliveries.rows, endpoints: endpoints.rows };
}
