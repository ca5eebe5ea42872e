import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { enqueueTasks, enqueueWebhooks } from '../../queues/enqueue.ts';
import { HOUR_MS } from '../../spec/durations.ts';
import { EMAIL_KIND_BY_EVENT, UNCONDITIONAL_EMAIL_KINDS } from '../../spec/events.ts';
import { OutboxEvent } from '../../tables/OutboxEvent.ts';
import { DISPATCH_KIND, isEmailEnabled, SEND_EMAIL_KIND } from '../outbox/recordEvent.ts';
import type { TaskKind } from '../tasks/taskKind.ts';
import { ensureDefaultEndpoint } from './defaultEndpoint.ts';
import { buildEventBody, type EventSources, getWebhookUrl, readEventSources } from './eventData.ts';

/** Events that one transaction dispatches. */
const BATCH_SIZE = 200;

/**
 * Dispatches recorded events, whose ids are the keys: creates the deliveries and messages that follow from them. Of
 * several runs with the same event one does.
 */
export const DISPATCH_EVENTS: TaskKind = {
  name: DISPATCH_KIND,
  backoff: { minMs: 5_000, maxMs: HOUR_MS },
  batchSize: BATCH_SIZE,
  waiting: 'SELECT account_id, cast(id AS text) AS key FROM outbox_events WHERE dispatched_at IS NULL',
  run: async (tasks) => {
    const { deliveries, emails } = await dispatchEvents(tasks.map(({ key }) => Number(key)));
    if (deliveries > 0) void enqueueWebhooks();
    if (emails > 0) void enqueueTasks(SEND_EMAIL_KIND);
    return undefined;
  },
};

/** @returns how many deliveries and messages follow. */
function dispatchEvents(ids: number[]): Promise<Dispatched> {
  return OutboxEvent.transaction(async (transaction) => {
    const events = await OutboxEvent.query(transaction)
      .whereIn('id', ids)
      .whereNull('dispatched_at')
      .orderBy('id')
      .forNoKeyUpdate();
    if (events.length === 0) return { deliveries: 0, emails: 0 };
    const sources = await readEventSources(transaction, events);
    const dispatched = events.map((event) => buildDispatch(event, sources));
    const addressed = dispatched.filter(({ webhook_url: url }) => url !== null);
    const owners = addressed.map(({ account_id: accountId }) => accountId);
    if (owners.length > 0) await ensureDefaultEndpoint(transaction, owners);
    return writeDispatch(transaction, dispatched);
  });
}

function buildDispatch(event: OutboxEvent, sources: EventSources): DispatchedEvent {
  const { id, account_id, type, subject, details, may_email, created_at } = event;
  const body = buildEventBody(event, sources);
  const webhookUrl = getWebhookUrl(sources, event);
  return { id, account_id, type, subject, details, may_email, created_at, body, webhook_url: webhookUrl };
}

/** An event with what follows from it. */
interface DispatchedEvent
  extends Pick<OutboxEvent, 'id' | 'account_id' | 'type' | 'subject' | 'details' | 'may_email' | 'created_at'> {
  /** Message that webhooks send; null if they do not send its type. */
  body: string | null;
  /** Address of a single generation that receives it as well. */
  webhook_url: string | null;
}

/**
 * Marks a batch of claimed events as dispatched, and inserts their deliveries and e-mail messages. The default endpoint
 * receives events of generations with an address of their own; the others those of their types that were recorded after
 * they were created or enabled. Endpoints are locked in the order of their ids, so that a worker that claims at the
 * same time finds the deliveries.
 */
const WRITE_DISPATCH = prepared(
  'write_dispatch',
  `WITH event AS MATERIALIZED (
     SELECT * FROM json_to_recordset(:events)
         AS e (id bigint, account_id bigint, type text, subject text, details jsonb, body text, webhook_url text,
               email_kind text, created_at timestamptz)
   ), endpoint AS MATERIALIZED (
     SELECT id, account_id, url, events, after_event_id FROM webhook_endpoints
      -- The array keeps the planner from scanning tables: it estimates a hundred rows for json_to_recordset.
      WHERE account_id = ANY (cast(:accounts AS bigint[])) AND disabled_at IS NULL
      ORDER BY id
        FOR NO KEY UPDATE
   ), target AS MATERIALIZED (
     SELECT event.id AS event_id, endpoint.id AS endpoint_id,
            CASE WHEN endpoint.url IS NULL THEN event.webhook_url END AS url
       FROM event JOIN endpoint USING (account_id)
      WHERE event.body IS NOT NULL
        AND CASE WHEN endpoint.url IS NULL THEN event.webhook_url IS NOT NULL
                 ELSE event.id > endpoint.after_event_id
                      AND (endpoint.events IS NULL OR event.type = ANY (endpoint.events)) END
   ), delivery AS (
     INSERT INTO webhook_deliveries (endpoint_id, event_id, url, next_attempt_at, created_at)
     SELECT endpoint_id, event_id, url, cast(:now AS timestamptz), cast(:now AS timestamptz)
       FROM target ORDER BY event_id, endpoint_id
     ON CONFLICT (endpoint_id, event_id) DO NOTHING
   ), due AS (
     UPDATE webhook_endpoints w
        SET next_delivery_at = least(w.next_delivery_at, :now)
       FROM (SELECT DISTINCT endpoint_id FROM target) t
      WHERE w.account_id = ANY (cast(:accounts AS bigint[])) AND w.id = t.endpoint_id
   ), email AS (
     INSERT INTO emails (account_id, kind, cause, params, created_at)
     SELECT a.id, event.email_kind, event.subject, event.details, event.created_at
       FROM event JOIN accounts a ON a.id = ANY (cast(:accounts AS bigint[])) AND a.id = event.account_id
      WHERE event.email_kind IS NOT NULL AND a.erased_at IS NULL AND a.live_account_id IS NULL
        AND (event.email_kind = ANY (cast(:unconditionalKinds AS text[]))
             OR a.email_settings -> event.email_kind IS DISTINCT FROM cast('false' AS jsonb))
     ON CONFLICT (account_id, kind, cause) DO NOTHING
     RETURNING id, account_id
   ), sending AS (
     INSERT INTO tasks (kind, key, account_id, run_at, created_at)
     SELECT '${SEND_EMAIL_KIND}', id, account_id, cast(:now AS timestamptz), cast(:now AS timestamptz) FROM email
   ), dispatched AS (
     UPDATE outbox_events o
        SET body = CASE WHEN o.id IN (SELECT event_id FROM target) THEN event.body END, dispatched_at = :now
       FROM event
      WHERE o.id = ANY (cast(:ids AS bigint[])) AND o.id = event.id
   )
   SELECT cast((SELECT count(*) FROM target) AS int) AS deliveries, cast((SELECT count(*) FROM email) AS int) AS emails`,
);

interface Dispatched {
  deliveries: number;
  emails: number;
}

async function writeDispatch(transaction: Transaction, events: DispatchedEvent[]): Promise<Dispatched> {
  const bindings = {
    events: JSON.stringify(events.map((event) => ({ ...event, email_kind: getEmailKind(event) }))),
    ids: events.map(({ id }) => id),
    accounts: [...new Set(events.map(({ account_id: accountId }) => accountId))],
    unconditionalKinds: UNCONDITIONAL_EMAIL_KINDS,
    now: now(),
  };
  const [row] = await runStatement<Dispatched>(WRITE_DISPATCH, bindings, transaction);
  return row as Dispatched;
}

function getEmailKind({ type, may_email: mayEmail }: DispatchedEvent): string | null {
  return mayEmail && isEmailEnabled() ? (EMAIL_KIND_BY_EVENT[type] ?? null) : null;
}
