import { createBatcher } from '../../lib/batcher.ts';
import { now } from '../../lib/clock.ts';
import { isRejection } from '../../lib/database/errors.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import type { WebhookEndpoint } from '../../tables/WebhookEndpoint.ts';
import type { EndpointLease } from './leases.ts';

/** A delivery that is due, with its message. */
export interface DueDelivery {
  id: number;
  /** Address of a delivery of the default endpoint. */
  url: string | null;
  /** Failed attempts so far. */
  attempts: number;
  eventUuid: string;
  body: string;
  recordedAt: Date;
}

/** Columns of an endpoint that an attempt needs. They are read again with every page of deliveries. */
export type DeliveryTarget = Pick<
  WebhookEndpoint,
  | 'id'
  | 'uuid'
  | 'account_id'
  | 'url'
  | 'secret'
  | 'private_key'
  | 'public_key'
  | 'previous_secret'
  | 'previous_private_key'
  | 'previous_until'
  | 'failing_since'
  | 'disabled_at'
>;

export interface DuePage {
  target: DeliveryTarget;
  deliveries: DueDelivery[];
}

export interface DueRequest extends EndpointLease {
  limit: number;
  /** Deliveries whose attempts are in flight or not yet recorded. */
  excluded: readonly number[];
}

// In the order in which they became due, which the index has: a backlog is not sorted for every page. The array of ids
// keeps the planner from scanning the endpoints.
const READ_DUE_DELIVERIES = prepared(
  'read_due_webhook_deliveries',
  `SELECT e.id, e.uuid, e.account_id, e.url, e.secret, e.private_key, e.public_key, e.previous_secret,
          e.previous_private_key, e.previous_until, e.failing_since, e.disabled_at,
          d.id AS delivery_id, d.url AS delivery_url, d.attempts, v.uuid AS event_uuid, v.body, v.created_at AS recorded_at
     FROM json_to_recordset(:wanted) AS want (id bigint, token uuid, "limit" int, excluded bigint[])
     JOIN webhook_endpoints e ON e.id = ANY (cast(:ids AS bigint[])) AND e.id = want.id AND e.lease_token = want.token
     LEFT JOIN LATERAL (
            SELECT * FROM webhook_deliveries due
             WHERE due.endpoint_id = e.id AND due.status = 'pending' AND due.next_attempt_at <= :now
               AND due.id <> ALL (want.excluded)
             ORDER BY due.next_attempt_at, due.id
             LIMIT want."limit") d ON true
     LEFT JOIN outbox_events v ON v.id = d.event_id
    ORDER BY d.next_attempt_at, d.id`,
);

type DueRow = DeliveryTarget &
  (
    | { delivery_id: null }
    | {
        delivery_id: number;
        delivery_url: string | null;
        attempts: number;
        event_uuid: string;
        body: string | null;
        recorded_at: Date;
      }
  );

/** Reads an endpoint with the next deliveries that are due. @returns undefined if the lease has been lost. */
export const readDueDeliveries = createBatcher<DueRequest, DuePage | undefined>({
  maxItems: 64,
  maxInFlight: 2,
  isItemError: isRejection,
  run: async (requests) => {
    const bindings = { wanted: JSON.stringify(requests), ids: requests.map(({ id }) => id), now: now() };
    const rows = await runStatement<DueRow>(READ_DUE_DELIVERIES, bindings);
    const pages = new Map<number, DuePage>();
    for (const row of rows) {
      const page = pages.get(row.id) ?? { target: row, deliveries: [] };
      pages.set(row.id, page);
      if (row.delivery_id !== null) page.deliveries.push(toDueDelivery(row));
    }
    return requests.map(({ id }) => pages.get(id));
  },
});

function toDueDelivery(row: Extract<DueRow, { delivery_id: number }>): DueDelivery {
  return {
    id: row.delivery_id,
    url: row.delivery_url,
    attempts: row.attempts,
    eventUuid: row.event_uuid,
    body: row.body ?? '',
    recordedAt: row.recorded_at,
  };
}
