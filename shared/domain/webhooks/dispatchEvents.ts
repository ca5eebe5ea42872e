import type { Transaction } from 'objection';
import { createBatcher } from '../../lib/batcher.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { isRejection } from '../../lib/database/errors.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { isDraining } from '../../lib/drain.ts';
import { logger } from '../../lib/logger.ts';
import { getBackoffMs } from '../../lib/retryBackoff.ts';
import { enqueueWebhooks } from '../../queues/enqueue.ts';
import { HOUR_MS } from '../../spec/durations.ts';
import { EMAIL_KIND_BY_EVENT, SECURITY_EMAIL_KINDS } from '../../spec/events.ts';
import { OutboxEvent } from '../../tables/OutboxEvent.ts';
import { isEmailEnabled } from '../outbox/recordEvent.ts';
import { ensureDefaultEndpoint } from './defaultEndpoint.ts';
import { buildEventBody, type EventSources, getWebhookUrl, readEventSources } from './eventData.ts';

/** Events that one transaction dispatches. */
const BATCH_SIZE = 200;
const RETRY_BACKOFF = { minMs: 5_000, maxMs: HOUR_MS };

/**
 * Dispatches recorded events: creates the deliveries and messages that follow from them. Calls during a run share the
 * next one, so that a process has one at a time. Processes skip events that another one has locked.
 */
export async function dispatchEvents(): Promise<void> {
  await dispatchForCall(null);
}

const dispatchForCall = createBatcher<null, void>({
  maxItems: Number.MAX_SAFE_INTEGER,
  maxInFlight: 1,
  run: async () => {
    await dispatchDueEvents();
    return [];
  },
});

async function dispatchDueEvents(): Promise<void> {
  while ((await tryDispatchBatch()) === BATCH_SIZE && !isDraining());
}

/** Dispatches a batch; one by one if the database rejects it, so that one event does not block others. */
async function tryDispatchBatch(): Promise<number> {
  try {
    return await dispatchBatch(BATCH_SIZE);
  } catch (err) {
    if (!isRejection(err)) throw err;
    logger.error({ err }, 'batch of events not dispatched; dispatching them one by one');
    return dispatchOneByOne();
  }
}

/** Locks events that are due, and skips those that another process has locked. */
function claimEvents(transaction: Transaction, limit: number, id: number | null) {
  return OutboxEvent.query(transaction)
    .where('next_attempt_at', '<=', now())
    .modify((due) => void (id !== null && due.where({ id })))
    .orderBy(['next_attempt_at', 'id'])
    .limit(limit)
    .forNoKeyUpdate()
    .skipLocked();
}

/** @returns the number of claimed events. */
async function dispatchBatch(limit: number, id: number | null = null): Promise<number> {
  const { count, deliveries } = await OutboxEvent.transaction(async (transaction) => {
    const events = await claimEvents(transaction, limit, id);
    if (events.length === 0) return { count: 0, deliveries: 0 };
    const sources = await readEventSources(transaction, events);
    const dispatched: DispatchedEvent[] = [];
    for (const event of events) {
      try {
        dispatched.push(buildDispatch(event, sources));
      } catch (err) {
        await recordFailure(event, err, transaction);
      }
    }
    const addressed = dispatched.filter(({ webhook_url: url }) => url !== null);
    const owners = addressed.map(({ account_id: accountId }) => accountId);
    if (owners.length > 0) await ensureDefaultEndpoint(transaction, owners);
    return { count: events.length, deliveries: await writeDispatch(transaction, dispatched) };
  });
  if (deliveries > 0) void enqueueWebhooks();
  return count;
}

function buildDispatch(event: OutboxEvent, sources: EventSources): DispatchedEvent {
  const { id, account_id, type, subject, details, may_email, created_at } = event;
  const body = buildEventBody(event, sources);
  const webhookUrl = getWebhookUrl(sources, event);
  return { id, account_id, type, subject, details, may_email, created_at, body, webhook_url: webhookUrl };
}

async function dispatchOneByOne(): Promise<number> {
  const due = await OutboxEvent.query()
    .where('next_attempt_at', '<=', now())
    .orderBy(['next_attempt_at', 'id'])
    .limit(BATCH_SIZE);
  for (const event of due) {
    try {
      await dispatchBatch(1, event.id);
    } catch (err) {
      if (!isRejection(err)) throw err;
      await recordFailure(event, err);
    }
  }
  return due.length;
}

const RECORD_FAILURE = prepared(
  'record_event_failure',
  `UPDATE outbox_events SET attempts = attempts + 1, next_attempt_at = :nextAttemptAt, last_error = :lastError
    WHERE id = :id AND next_attempt_at IS NOT NULL`,
);

/** Defers an event that cannot be dispatched. It is retried until it can. */
async function recordFailure({ id, uuid, type, attempts }: OutboxEvent, err: unknown, transaction?: Transaction) {
  logger.error({ err, event: uuid, type, attempts }, 'event not dispatched; sweep will retry');
  const nextAttemptAt = addMilliseconds(now(), getBackoffMs(attempts, RETRY_BACKOFF));
  const lastError = (err instanceof Error ? err.message : String(err)).slice(0, 500);
  await runStatement(RECORD_FAILURE, { id, nextAttemptAt, lastError }, transaction);
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
 * Marks a batch of claimed events as dispatched, and inserts their deliveries and e-mail messages. Endpoints are locked
 * in the order of their ids, so that a worker that releases one at the same time finds the deliveries. One that is
 * leased stays due when its lease expires; that is no condition of the update, which would miss a release that it
 * waited for. The default endpoint receives events of generations with an address of their own; the others those of
 * their types that were recorded after they were created or enabled. A body is stored only if it is delivered. A
 * message has the time of its event, which it names and from which it can be too late. The array of accounts keeps the
 * planner from scanning tables: it estimates a hundred rows for `json_to_recordset`.
 */
const WRITE_DISPATCH = prepared(
  'write_dispatch',
  `WITH event AS MATERIALIZED (
     SELECT * FROM json_to_recordset(:events)
         AS e (id bigint, account_id bigint, type text, subject text, details jsonb, body text, webhook_url text,
               email_kind text, created_at timestamptz)
   ), endpoint AS MATERIALIZED (
     SELECT id, account_id, url, events, after_event_id FROM webhook_endpoints
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
        SET next_delivery_at = CASE WHEN w.leased_until > :now THEN w.next_delivery_at ELSE least(w.next_delivery_at, :now) END
       FROM (SELECT DISTINCT endpoint_id FROM target) t
      WHERE w.account_id = ANY (cast(:accounts AS bigint[])) AND w.id = t.endpoint_id
   ), email AS (
     INSERT INTO emails (account_id, kind, cause, params, next_attempt_at, created_at)
     SELECT a.id, event.email_kind, event.subject, event.details, cast(:now AS timestamptz), event.created_at
       FROM event JOIN accounts a ON a.id = ANY (cast(:accounts AS bigint[])) AND a.id = event.account_id
      WHERE event.email_kind IS NOT NULL AND a.erased_at IS NULL AND a.live_account_id IS NULL
        AND (event.email_kind = ANY (cast(:securityKinds AS text[]))
             OR a.email_settings -> event.email_kind IS DISTINCT FROM cast('false' AS jsonb))
     ON CONFLICT (account_id, kind, cause) DO NOTHING
   ), dispatched AS (
     UPDATE outbox_events o
        SET body = CASE WHEN o.id IN (SELECT event_id FROM target) THEN event.body END,
            next_attempt_at = NULL, attempts = o.attempts + 1, last_error = NULL
       FROM event
      WHERE o.id = ANY (cast(:ids AS bigint[])) AND o.id = event.id
   )
   SELECT cast(count(*) AS int) AS deliveries FROM target`,
);

/** @returns the number of deliveries. */
async function writeDispatch(transaction: Transaction, events: DispatchedEvent[]): Promise<number> {
  if (events.length === 0) return 0;
  const bindings = {
    events: JSON.stringify(events.map((event) => ({ ...event, email_kind: getEmailKind(event) }))),
    ids: events.map(({ id }) => id),
    accounts: [...new Set(events.map(({ account_id: accountId }) => accountId))],
    securityKinds: SECURITY_EMAIL_KINDS,
    now: now(),
  };
  const [row] = await runStatement<{ deliveries: number }>(WRITE_DISPATCH, bindings, transaction);
  return row?.deliveries ?? 0;
}

function getEmailKind({ type, may_email: mayEmail }: DispatchedEvent): string | null {
  return mayEmail && isEmailEnabled() ? (EMAIL_KIND_BY_EVENT[type] ?? null) : null;
}
