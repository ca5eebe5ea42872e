import { db } from '../../lib/database/pool.ts';
import { prepared } from '../../lib/database/preparedStatements.ts';
import { runInBatches, STATEMENT_BATCH_SIZE } from '../../lib/database/runInBatches.ts';
import { DAY_MS } from '../../spec/durations.ts';
import { OutboxEvent } from '../../tables/OutboxEvent.ts';
import { WebhookEndpoint } from '../../tables/WebhookEndpoint.ts';
import { type ExportList, listTable, qualifyColumns, selectNext } from '../exportList.ts';
import type { DomainFeature } from '../feature.ts';
import { DISPATCH_EVENTS } from './dispatchEvents.ts';
import { failDeliveriesOfDisabledEndpoints } from './endpointState.ts';
import { NOTIFICATION_INVARIANTS } from './invariants.ts';
import { RECORD_AND_CLAIM } from './recordAndClaim.ts';

const DELIVERY_COLUMNS = [
  'uuid',
  'url',
  'status',
  'last_attempt_at',
  'last_status',
  'delivered_at',
  'attempt_log',
  'created_at',
];

/** Lists deliveries with their endpoints and the bodies that were sent. */
const WEBHOOK_DELIVERIES: ExportList = {
  name: 'webhook_deliveries',
  mode: 'both',
  select: (accountId, after) => {
    const deliveries = db('webhook_deliveries')
      .join('webhook_endpoints', 'webhook_endpoints.id', 'webhook_deliveries.endpoint_id')
      .join('outbox_events', 'outbox_events.id', 'webhook_deliveries.event_id')
      .select(qualifyColumns('webhook_deliveries', DELIVERY_COLUMNS))
      .select({ endpoint: 'webhook_endpoints.uuid', type: 'outbox_events.type', body: 'outbox_events.body' })
      .where('webhook_endpoints.account_id', accountId);
    return selectNext(deliveries, 'webhook_deliveries.id', after);
  },
};

/**
 * Deletes events with their deliveries, those that are being dispatched excepted. Most are deleted before the
 * transaction of the erasure: a month of an active account has too many for one statement.
 */
const DELETE_EVENTS = prepared(
  'delete_outbox_events',
  `DELETE FROM outbox_events WHERE id IN (
     SELECT id FROM outbox_events WHERE account_id = :accountId LIMIT ${STATEMENT_BATCH_SIZE} FOR UPDATE SKIP LOCKED)
   RETURNING id`,
);

export const WEBHOOKS: DomainFeature = {
  sqlFunctions: [RECORD_AND_CLAIM],
  invariants: NOTIFICATION_INVARIANTS,
  exportLists: [
    // Without the keys.
    listTable(
      'webhook_endpoints',
      'id',
      [
        'uuid',
        'url',
        'events',
        'description',
        'public_key',
        'disabled_at',
        'disabled_reason',
        'created_at',
        'updated_at',
      ],
      { mode: 'both' },
    ),
    WEBHOOK_DELIVERIES,
  ],
  erasure: {
    before: (accountId) => runInBatches(DELETE_EVENTS, { accountId }),
    inTransaction: async (transaction, { id: accountId }) => {
      const owned = { account_id: accountId };
      // In the order in which events are dispatched: a worker may be recording deliveries of the endpoints.
      await OutboxEvent.query(transaction).where(owned).orderBy('id').select('id').forUpdate();
      await WebhookEndpoint.query(transaction).where(owned).orderBy('id').select('id').forUpdate();
      await OutboxEvent.query(transaction).delete().where(owned);
      await WebhookEndpoint.query(transaction).delete().where(owned);
    },
  },
  tasks: [DISPATCH_EVENTS],
  retention: [
    failDeliveriesOfDisabledEndpoints,
    // With their deliveries, none of which is pending.
    {
      table: 'outbox_events',
      key: 'id',
      since: 'created_at',
      afterMs: 30 * DAY_MS,
      where: `dispatched_at IS NOT NULL
          AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.event_id = outbox_events.id AND d.status = 'pending')`,
    },
  ],
};
