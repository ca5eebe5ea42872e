import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { firstUuidAt } from '../../lib/uuid.ts';
import { DAY_MS, MINUTE_MS } from '../../spec/durations.ts';
import { GENERATION_DEADLINE_MS } from '../../spec/limits.ts';
import { getQueueDepths, type QueueDepth } from '../../queues/depth.ts';
import { UpstreamHealth } from '../../tables/UpstreamHealth.ts';
import { CANCELED_REASON, KNOWN_REASONS, OTHER_REASON } from '../generations/failureReasons.ts';
import { ISSUE_REFUND } from '../billing/issueRefunds.ts';
import { IS_OPEN_REFUND } from '../billing/owedRefunds.ts';
import { type Backlog, readBacklog } from '../platform/backlogMetrics.ts';
import { UPSTREAM_NAME } from '../reports/sums.ts';
import { ALL_TASK_KINDS } from '../privacy/taskKinds.ts';
import { countTasks, isOverdue, type TaskCount } from '../tasks/listTasks.ts';
import { type HealthState, toHealthState } from '../upstreams/healthState.ts';

/** Generations that ended within this time count as what fails now, as in the alert of failing generations. */
export const INCIDENT_WINDOW_MS = 15 * MINUTE_MS;
/** Newest generations that are read, so that the page stays fast at any traffic. */
export const GENERATIONS_READ_MAX = 20_000;
const ROWS_SHOWN = 10;
/** Age of the oldest hour in which a last success is found. */
const HISTORY_MS = 7 * DAY_MS;

/** The state of one choice of a model, and how its generations of the last 15 minutes ended. */
export interface UpstreamState extends HealthState {
  model: string;
  /** `name:model id`; empty for generations that were not submitted. */
  upstream: string;
  ended: number;
  failed: number;
  /** Accounts with a failure. */
  customers: number;
  /** First failure after the last success of these minutes. */
  failing_since: Date | null;
  /** Last success of these minutes; else the last hour of the week with one. */
  succeeded_at: Date | null;
  succeeded_hour: Date | null;
  reason: string | null;
  example_uuid: string | null;
}

type RecentSum = Omit<UpstreamState, 'health' | 'isStale' | 'isCircuitOpen' | 'succeeded_hour'>;

export interface AffectedCustomer {
  uuid: string;
  email: string;
  failed: number;
  ended: number;
  failed_at: Date;
}

/** A refund that is not issued, with its account. */
export interface OpenRefund {
  of: string;
  status: string;
  last_error: string | null;
  created_at: Date;
  uuid: string;
  email: string;
}

/** Rows that need attention, beside the backlog. */
export interface Trouble {
  source: 'owed_refunds' | 'rejected_refunds' | 'failing_webhooks' | 'failing_tasks' | 'given_up_tasks';
  rows: number;
  oldest: Date | null;
}

export interface Incident {
  /** Choices of models, those in trouble first. */
  upstreams: UpstreamState[];
  customers: AffectedCustomer[];
  refunds: OpenRefund[];
  backlog: Backlog[];
  trouble: Trouble[];
  /** Kinds with tasks that should have run. */
  overdueTasks: TaskCount[];
  /** Null while Redis is unavailable. */
  queues: QueueDepth[] | null;
}

/**
 * Generations that ended since a moment. Those that ended then were created within a deadline before it, and the
 * primary key is ordered by creation.
 */
const RECENT = `recent AS MATERIALIZED (
     SELECT uuid, account_id, model, ${UPSTREAM_NAME} AS upstream, status, completed_at,
            CASE WHEN error_message = ANY (cast(:knownReasons AS text[])) THEN error_message ELSE :otherReason END AS reason
       FROM (SELECT uuid, account_id, model, coalesce(upstream, '') AS upstream, coalesce(upstream_model, '') AS upstream_model, status, completed_at, error_message
               FROM generations WHERE uuid >= :first AND NOT is_test ORDER BY uuid DESC LIMIT ${GENERATIONS_READ_MAX}) newest
      WHERE completed_at >= :since AND error_message IS DISTINCT FROM :canceledReason
   )`;

const SUM_RECENT = prepared(
  'sum_recent_generations',
  `WITH ${RECENT}, succeeded AS (
     SELECT model, upstream, max(completed_at) AS at FROM recent WHERE status = 'succeeded' GROUP BY 1, 2
   )
   SELECT model, upstream, cast(count(*) AS int) AS ended, cast(count(*) FILTER (WHERE status = 'failed') AS int) AS failed,
          cast(count(DISTINCT account_id) FILTER (WHERE status = 'failed') AS int) AS customers,
          min(completed_at) FILTER (WHERE status = 'failed' AND completed_at > coalesce(s.at, '-infinity')) AS failing_since,
          max(s.at) AS succeeded_at,
          (array_agg(reason ORDER BY completed_at DESC) FILTER (WHERE status = 'failed'))[1] AS reason,
          (array_agg(uuid ORDER BY completed_at DESC) FILTER (WHERE status = 'failed'))[1] AS example_uuid
     FROM recent LEFT JOIN succeeded s USING (model, upstream)
    GROUP BY 1, 2`,
);

const LIST_AFFECTED = prepared(
  'list_affected_customers',
  `WITH ${RECENT}, affected AS (
     SELECT account_id, cast(count(*) FILTER (WHERE status = 'failed') AS int) AS failed, cast(count(*) AS int) AS ended,
            max(completed_at) FILTER (WHERE status = 'failed') AS failed_at
       FROM recent GROUP BY 1 HAVING bool_or(status = 'failed') ORDER BY failed DESC, account_id LIMIT ${ROWS_SHOWN}
   )
   SELECT a.uuid, a.email, failed, ended, failed_at FROM affected JOIN accounts a ON a.id = account_id
    ORDER BY failed DESC, a.id`,
);

/** The hours are first in the primary key, and few. */
const FIND_LAST_SUCCESS = prepared(
  'find_last_success_hours',
  `SELECT model, ${UPSTREAM_NAME} AS upstream, max(hour) AS hour
     FROM generation_hours WHERE hour >= :oldest AND succeeded > 0 GROUP BY 1, 2`,
);

/** A refund that is owed has the error of its task. */
const OPEN_REFUNDS = `(
     SELECT r.account_id, r.payment, r.status, coalesce(r.last_error, t.last_error) AS last_error, r.created_at
       FROM owed_refunds r LEFT JOIN tasks t ON t.kind = '${ISSUE_REFUND.name}' AND t.key = r.key
      WHERE r.${IS_OPEN_REFUND}) refunds`;

/** Each count is of a partial index, or of a table with few rows. An endpoint that fails has a delivery that is due. */
const COUNT_TROUBLE = prepared(
  'count_trouble',
  `SELECT status || '_refunds' AS source, cast(count(*) AS int) AS rows, min(created_at) AS oldest FROM ${OPEN_REFUNDS} GROUP BY 1
    UNION ALL
   SELECT 'failing_webhooks', cast(count(*) AS int), min(failing_since) FROM webhook_endpoints
    WHERE next_delivery_at IS NOT NULL AND failing_since IS NOT NULL AND disabled_at IS NULL
    UNION ALL
   SELECT 'failing_tasks', cast(count(*) AS int), min(created_at) FROM tasks WHERE attempts > 0 AND run_at IS NOT NULL
    UNION ALL
   SELECT 'given_up_tasks', cast(count(*) AS int), min(created_at) FROM tasks WHERE attempts > 0 AND run_at IS NULL`,
);

const LIST_OPEN_REFUNDS = prepared(
  'list_open_refunds',
  `SELECT payment AS "of", status, last_error, refunds.created_at, a.uuid, a.email
     FROM ${OPEN_REFUNDS} JOIN accounts a ON a.id = account_id
    ORDER BY status, CASE status WHEN 'owed' THEN refunds.created_at END, refunds.created_at DESC LIMIT ${ROWS_SHOWN}`,
);

/** Reads what fails now, whom it affects, and what waits. */
export async function readIncident(): Promise<Incident> {
  const at = now();
  const since = addMilliseconds(at, -INCIDENT_WINDOW_MS);
  const window = {
    since,
    first: firstUuidAt(addMilliseconds(since, -Math.max(...Object.values(GENERATION_DEADLINE_MS)))),
    knownReasons: KNOWN_REASONS,
    otherReason: OTHER_REASON,
    canceledReason: CANCELED_REASON,
  };
  const [health, sums, hours, customers, refunds, backlog, trouble, tasks, queues] = await Promise.all([
    UpstreamHealth.query().orderBy(['model', 'position']),
    runStatement<RecentSum>(SUM_RECENT, window),
    runStatement<{ model: string; upstream: string; hour: Date }>(FIND_LAST_SUCCESS, {
      oldest: addMilliseconds(at, -HISTORY_MS),
    }),
    runStatement<AffectedCustomer>(LIST_AFFECTED, window),
    runStatement<OpenRefund>(LIST_OPEN_REFUNDS, {}),
    readBacklog(),
    runStatement<Trouble>(COUNT_TROUBLE, {}),
    countTasks(ALL_TASK_KINDS),
    // The page must also work while Redis is unavailable.
    getQueueDepths().catch(() => null),
  ]);
  const sumByKey = new Map(sums.map((sum) => [buildKey(sum), sum]));
  const healthByKey = new Map(health.map((row) => [buildKey(row), row]));
  const hourByKey = new Map(hours.map((row) => [buildKey(row), row.hour]));
  const upstreams = [...new Set([...healthByKey.keys(), ...sumByKey.keys()])].map((key): UpstreamState => {
    const row = healthByKey.get(key) ?? null;
    const { model, upstream } = (row ?? sumByKey.get(key)) as RecentSum;
    return {
      ...NOTHING_ENDED,
      ...sumByKey.get(key),
      model,
      upstream,
      ...toHealthState(row, at),
      succeeded_hour: hourByKey.get(key) ?? null,
    };
  });
  return {
    upstreams: upstreams.toSorted((a, b) => rank(b) - rank(a)),
    customers,
    refunds,
    backlog,
    trouble,
    overdueTasks: tasks.filter(({ oldest }) => isOverdue(oldest)),
    queues,
  };
}

const buildKey = ({ model, upstream }: { model: string; upstream: string }) => `${model} ${upstream}`;

const NOTHING_ENDED = {
  ended: 0,
  failed: 0,
  customers: 0,
  failing_since: null,
  succeeded_at: null,
  reason: null,
  example_uuid: null,
};

/** Returns whether generations fail at an upstream, or none can be submitted to it. */
export function isInTrouble({ health, isStale, isCircuitOpen, failed }: UpstreamState): boolean {
  return failed > 0 || isStale || isCircuitOpen || (health !== null && health.status !== 'online');
}

/** Upstreams that take no generations come first, then those with the largest failure rates. */
function rank(state: UpstreamState): number {
  const isClosed = state.isCircuitOpen || state.isStale || state.health?.status === 'offline';
  return (isClosed ? 2 : 0) + (state.ended === 0 ? 0 : state.failed / state.ended) + (isInTrouble(state) ? 1 : 0);
}
