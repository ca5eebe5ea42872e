import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { APPLY_EVENT_KIND } from '../billing/processorTasks.ts';
import {
  ageSeconds,
  buildTable,
  type ComputedMeasure,
  type PeriodRow,
  type ReportDefinition,
  type ReportRange,
  type ReportTable,
  measureSum,
  uncompared,
} from './report.ts';

/** Rows of each list; the counts include all. */
const LISTED_EVENTS = 100;

interface EventCount extends PeriodRow {
  type: string;
  pending: number;
  oldest: Date | null;
  given_up: number;
}

/** Unprocessed events, which a partial index has, with their tasks. */
const UNPROCESSED = `payment_events e JOIN tasks t ON t.kind = '${APPLY_EVENT_KIND}' AND t.key = e.event_id
    WHERE e.processed_at IS NULL`;

const COUNT_EVENTS = prepared(
  'count_payment_events',
  `SELECT true AS is_current, type, cast(count(*) AS int) AS pending, min(received_at) AS oldest, 0 AS given_up
     FROM ${UNPROCESSED} AND t.run_at IS NOT NULL GROUP BY type
    UNION ALL
   SELECT received_at >= :since, type, 0, NULL, cast(count(*) AS int)
     FROM ${UNPROCESSED} AND t.run_at IS NULL AND received_at >= :previousSince AND received_at < :until GROUP BY 1, 2`,
);

interface ListedEvent {
  event_id: string;
  type: string;
  attempts: number;
  received_at: Date;
  last_error: string | null;
  is_given_up: boolean;
}

const LIST_EVENTS = prepared(
  'list_problem_payment_events',
  `(SELECT event_id, type, attempts, received_at, last_error, false AS is_given_up
      FROM ${UNPROCESSED} AND t.run_at IS NOT NULL ORDER BY received_at LIMIT ${LISTED_EVENTS})
    UNION ALL
   (SELECT event_id, type, attempts, received_at, last_error, true
      FROM ${UNPROCESSED} AND t.run_at IS NULL AND received_at >= :since AND received_at < :until
     ORDER BY received_at DESC LIMIT ${LISTED_EVENTS})`,
);

/** Events of the payment processor that were not applied. */
export const paymentEventReport: ReportDefinition = {
  slug: 'payment-events',
  title: 'Payment events',
  summary: 'Events of the payment processor that wait or were given up, with their problem.',
  definition: [
    'Pending: events that were received and not processed, whenever they arrived. This is the current state and does not depend on the range.',
    'Given up: events whose processing failed for three days, by the day on which they were received. Fix the problem, then resend the event from the Stripe dashboard.',
    'Age: time since the event was received. Processed events and those that were given up are deleted after 60 days.',
  ],
  defaultRange: 'last 30 days',
  build: buildEventTables,
};

const MEASURES: readonly ComputedMeasure<EventCount>[] = [
  { ...measureSum('pending', 'Pending now'), isCompared: false },
  { key: 'oldest_seconds', label: 'Age of the oldest', unit: 'seconds', isCompared: false, compute: findLargestAge },
  measureSum('given_up', 'Given up'),
];

function findLargestAge(rows: readonly EventCount[]): number | null {
  const ages = rows.flatMap(({ oldest }) => (oldest === null ? [] : [ageSeconds(oldest)]));
  return ages.length === 0 ? null : Math.max(...ages);
}

async function buildEventTables({ since, previousSince, until }: ReportRange): Promise<ReportTable[]> {
  const [counts, events] = await Promise.all([
    runStatement<EventCount>(COUNT_EVENTS, { since, previousSince, until }),
    runStatement<ListedEvent>(LIST_EVENTS, { since, until }),
  ]);
  return [
    buildTable({
      key: 'types',
      title: 'By type',
      note: 'All events, also those that the lists below leave out.',
      dimensions: [{ key: 'type', label: 'Type' }],
      measures: MEASURES,
      rows: counts,
      getLabels: ({ type }) => [type],
    }),
    buildEventTable(
      'pending',
      'Pending events',
      `The oldest ${LISTED_EVENTS} at most.`,
      events.filter((event) => !event.is_given_up),
    ),
    buildEventTable(
      'given_up',
      'Events that were given up',
      `The latest ${LISTED_EVENTS} of the range at most.`,
      events.filter((event) => event.is_given_up),
    ),
  ];
}

function buildEventTable(key: string, title: string, note: string, events: ListedEvent[]): ReportTable {
  return {
    key,
    title,
    note,
    dimensions: [
      { key: 'event', label: 'Event' },
      { key: 'type', label: 'Type' },
    ],
    measures: [
      { key: 'age_seconds', label: 'Age', unit: 'seconds', isCompared: false },
      { key: 'attempts', label: 'Attempts', unit: 'count', isCompared: false },
    ],
    details: [
      { key: 'problem', label: 'Problem' },
      { key: 'received_at', label: 'Received (UTC)' },
    ],
    rows: events.map(({ event_id: id, type, attempts, received_at: receivedAt, last_error: problem }) => ({
      labels: [id, type],
      amounts: uncompared(ageSeconds(receivedAt), attempts),
      details: [problem ?? 'None yet', receivedAt.toISOString()],
    })),
  };
}
