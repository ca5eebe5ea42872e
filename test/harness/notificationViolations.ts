import { breakCustomer, type Corruption } from './corruption.ts';

const insertEndpoint = (url: string, nextDelivery = 'NULL') =>
  `INSERT INTO webhook_endpoints (uuid, account_id, url, secret, private_key, public_key, next_delivery_at, created_at,
                                  updated_at)
   VALUES (gen_random_uuid(), 1, ${url}, '', '', '', ${nextDelivery}, now(), now())`;
const insertEvent = (body: string, dispatchedAt = 'now()') =>
  `INSERT INTO outbox_events (account_id, type, subject, body, dispatched_at, created_at)
   VALUES (1, 'key.created', 'a key', ${body}, ${dispatchedAt}, now())`;
const INSERT_DELIVERY = `
  INSERT INTO webhook_deliveries (endpoint_id, event_id, next_attempt_at, created_at)
  SELECT w.id, e.id, now(), now() FROM webhook_endpoints w, outbox_events e`;
const endedSql = (status: string) =>
  `UPDATE generations SET webhook_url = 'https://example.com' WHERE account_id = 1 AND status = '${status}'
      AND completed_at = (SELECT max(completed_at) FROM generations WHERE account_id = 1 AND status = '${status}')`;

/** Corruptions of events and deliveries, by the invariant that each violates. */
export const NOTIFICATION_CORRUPTIONS: Record<string, Corruption[]> = {
  'webhook-endpoints-are-counted': [
    breakCustomer('UPDATE accounts SET webhook_count = 1 WHERE id = 1'),
    breakCustomer(insertEndpoint(`'https://example.com'`)),
  ],
  'pending-deliveries-are-due': [
    breakCustomer(`${insertEndpoint('NULL')}; ${insertEvent(`'{}'`)}; ${INSERT_DELIVERY}`),
    breakCustomer(
      `${insertEndpoint('NULL', `timestamptz '2038-01-01T00:00:00Z'`)}; ${insertEvent(`'{}'`)}; ${INSERT_DELIVERY}`,
    ),
    // The worker that has leased it may end.
    breakCustomer(
      `${insertEndpoint('NULL', `timestamptz '2037-03-15T12:01:00Z'`)}; ${insertEvent(`'{}'`)}; ${INSERT_DELIVERY};
       UPDATE webhook_deliveries SET leased_by = gen_random_uuid(), leased_until = '2037-03-15T12:00:30Z'`,
    ),
  ],
  'delivered-events-have-a-body': [
    breakCustomer(`${insertEndpoint('NULL', 'now()')}; ${insertEvent('NULL')}; ${INSERT_DELIVERY}`),
    breakCustomer(`${insertEndpoint('NULL', 'now()')}; ${insertEvent(`'{}'`, 'NULL')}; ${INSERT_DELIVERY}`),
  ],
  'ends-with-an-address-have-an-event': [breakCustomer(endedSql('succeeded')), breakCustomer(endedSql('failed'))],
  'erased-accounts-receive-nothing': [
    breakCustomer(`UPDATE accounts SET erased_at = now() WHERE id = 1; ${insertEndpoint('NULL')}`),
    breakCustomer(
      `UPDATE accounts SET erased_at = now() WHERE id = 1;
       INSERT INTO emails (account_id, kind, cause, created_at) VALUES (1, 'key_created', '', now())`,
    ),
  ],
};
