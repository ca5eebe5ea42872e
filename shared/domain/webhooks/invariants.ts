import { CLOCK_SKEW_INTERVAL, type Invariant } from '../invariant.ts';

/** Recorded events, webhook endpoints and their deliveries. */
export const NOTIFICATION_INVARIANTS: readonly Invariant[] = [
  {
    name: 'webhook-endpoints-are-counted',
    statement: 'The webhook count of an account is the number of its enabled endpoints, without the default one.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'webhook endpoints' AS subject,
             format('counted %s, enabled %s', a.webhook_count, coalesce(w.enabled, 0)) AS detail
        FROM accounts a
        LEFT JOIN (SELECT account_id, count(*) AS enabled FROM webhook_endpoints
                    WHERE url IS NOT NULL AND disabled_at IS NULL GROUP BY 1) w ON w.account_id = a.id
       WHERE a.webhook_count <> coalesce(w.enabled, 0)`,
  },
  {
    name: 'pending-deliveries-are-due',
    statement:
      'An enabled endpoint with pending deliveries is due by the first of them, or at once; while some are leased, by the end of the first lease.',
    checkedWhen: 'always',
    query: `
      SELECT w.account_id, 'endpoint ' || w.uuid AS subject,
             format('due %s, first delivery %s', coalesce(w.next_delivery_at::text, 'never'), d.first) AS detail
        FROM webhook_endpoints w
        JOIN (SELECT endpoint_id, min(next_attempt_at) AS first,
                     -- A lease that has ended waits with the others.
                     min(leased_until) FILTER (WHERE leased_until > $1) AS leased_until
                FROM webhook_deliveries WHERE status = 'pending' GROUP BY 1) d ON d.endpoint_id = w.id
       WHERE w.disabled_at IS NULL
         AND (w.next_delivery_at IS NULL
              OR w.next_delivery_at > coalesce(d.leased_until, greatest(d.first, $1 + ${CLOCK_SKEW_INTERVAL})))`,
  },
  {
    name: 'delivered-events-have-a-body',
    statement: 'An event with deliveries is dispatched and has the body that they send.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'event ' || uuid AS subject,
             format('%s, dispatched %s, %s', type, coalesce(dispatched_at::text, 'never'),
                    CASE WHEN body IS NULL THEN 'without a body' ELSE 'with a body' END) AS detail
        FROM outbox_events e
       WHERE (body IS NULL OR dispatched_at IS NULL)
         AND EXISTS (SELECT FROM webhook_deliveries d WHERE d.event_id = e.id)`,
  },
  {
    // Events are deleted after 30 days.
    name: 'ends-with-an-address-have-an-event',
    statement: 'The end of a generation that was created with a webhook_url has an event.',
    checkedWhen: 'always',
    query: `
      SELECT g.account_id, 'generation ' || g.uuid AS subject, format('%s %s', g.status, g.completed_at) AS detail
        FROM generations g
       WHERE g.webhook_url IS NOT NULL AND g.status <> 'queued' AND g.completed_at > $1 - interval '29 days'
         AND NOT EXISTS (SELECT FROM outbox_events e
                          WHERE e.account_id = g.account_id AND e.type = 'generation.' || g.status
                            AND e.subject = g.uuid::text)
         AND EXISTS (SELECT FROM accounts a WHERE a.id = g.account_id AND a.erased_at IS NULL)`,
  },
  {
    name: 'erased-accounts-receive-nothing',
    statement: 'An account that was erased has no webhook endpoint and no message.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'notifications' AS subject, format('erased %s', a.erased_at) AS detail
        FROM accounts a
       WHERE a.erased_at IS NOT NULL
         AND (EXISTS (SELECT FROM webhook_endpoints w WHERE w.account_id = a.id)
              OR EXISTS (SELECT FROM emails e WHERE e.account_id = a.id))`,
  },
];
