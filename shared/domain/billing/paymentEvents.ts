import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { STATEMENT_BATCH_SIZE } from '../../lib/database/runInBatches.ts';
import { logger } from '../../lib/logger.ts';
import { paymentEventLag } from '../../lib/metrics.ts';
import { PaymentEvent } from '../../tables/PaymentEvent.ts';
import { fetchEventSnapshots } from './eventSnapshots.ts';
import { APPLY_EVENT_KIND, PROCESSOR_TASK, withProcessor } from './processorTasks.ts';
import { recordSubscriptionChange } from './recordSubscriptionChange.ts';
import type { TaskKind } from '../tasks/taskKind.ts';
import { DAY_MS, HOUR_MS } from '../../spec/durations.ts';
import { withAccountLock } from '../credits/ledger.ts';
import type { AccountSnapshot } from '../payments/accountSnapshot.ts';

/** A failing event is retried for this long, and at least this often: the worker may have been down for days. */
const GIVE_UP_AFTER_MS = 3 * DAY_MS;
const MIN_ATTEMPTS = 10;

/** Applies an event, whose id is the key, once. One that is given up is retried if the processor sends it again. */
export const APPLY_PAYMENT_EVENT: TaskKind = {
  ...PROCESSOR_TASK,
  name: APPLY_EVENT_KIND,
  backoff: { minMs: 4_000, maxMs: HOUR_MS },
  isGivenUp: ({ attempts, createdAt }) =>
    attempts + 1 >= MIN_ATTEMPTS && createdAt <= addMilliseconds(now(), -GIVE_UP_AFTER_MS),
  waiting: `SELECT cast(NULL AS bigint) AS account_id, event_id AS key FROM payment_events WHERE processed_at IS NULL`,
  run: withProcessor(async ({ key: eventId }) => {
    const event = await PaymentEvent.query().findOne({ event_id: eventId }).whereNull('processed_at');
    if (event === undefined) return undefined;
    const snapshots = await fetchEventSnapshots(event);
    await applyEvent(eventId, snapshots);
    const problem = findProblem(snapshots);
    if (problem !== null) throw new Error(problem);
    paymentEventLag.observe(Math.max(0, (now().getTime() - event.received_at.getTime()) / 1_000));
    logger.info({ event: eventId, type: event.type, accountId: snapshots[0]?.accountId }, 'payment event applied');
    return undefined;
  }),
};

/** Applies the snapshots of an event and marks it as applied, in one transaction under the account's lock. */
async function applyEvent(eventId: string, snapshots: AccountSnapshot[]): Promise<void> {
  const accountId = snapshots[0]?.accountId;
  if (accountId === undefined) {
    // The copy may name a customer whose account was erased.
    await PaymentEvent.query().findById(eventId).whereNull('processed_at').patch({ processed_at: now(), payload: '' });
    return;
  }
  await withAccountLock(accountId, async (transaction, account) => {
    // An event with a problem stays unapplied, so that it is retried; its other parts are applied now.
    // The copy of the event contains the e-mail address, which was erased.
    if (account.erased_at !== null) await PaymentEvent.query(transaction).findById(eventId).patch({ payload: '' });
    const unapplied = PaymentEvent.query(transaction).findById(eventId).whereNull('processed_at');
    if (findProblem(snapshots) === null && (await unapplied.patch({ processed_at: now() })) === 0) return;
    // No part reads a column of the account that an earlier one writes.
    await recordSubscriptionChange(transaction, account, async () => {
      for (const { apply } of snapshots) await apply(transaction, account);
    });
  });
}

function findProblem(snapshots: AccountSnapshot[]): string | null {
  return snapshots.find(({ problem }) => problem !== null)?.problem ?? null;
}

const CLEAR_PAYLOADS = prepared(
  'clear_payment_event_payloads',
  `WITH page AS MATERIALIZED (
     SELECT event_id, payload FROM payment_events WHERE event_id > :after ORDER BY event_id LIMIT ${STATEMENT_BATCH_SIZE}
   ), cleared AS (
     UPDATE payment_events e SET payload = '' FROM page
      WHERE e.event_id = page.event_id
        AND EXISTS (SELECT FROM unnest(cast(:names AS text[])) AS name WHERE strpos(page.payload, name) > 0)
   )
   SELECT event_id FROM page ORDER BY event_id`,
);

/**
 * Empties the stored copies of all events that contain one of these names, such as a customer id. Events are applied
 * without their copies. Reads every event of the retention, some at a time.
 */
export async function clearEventPayloads(names: string[]): Promise<void> {
  for (let after = ''; ; ) {
    const page = await runStatement<Pick<PaymentEvent, 'event_id'>>(CLEAR_PAYLOADS, { after, names });
    if (page.length < STATEMENT_BATCH_SIZE) return;
    after = page.at(-1)?.event_id as string;
  }
}
