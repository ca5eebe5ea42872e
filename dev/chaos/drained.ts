import type { Queryable, Violation } from '../../shared/domain/invariant.ts';
import { AUTO_TOPUP_INTERVAL_SQL } from '../../shared/domain/billing/topupInvariants.ts';
import type { ChaosEnvironment } from './environment.ts';
import { violate } from './rules.ts';

/** Counts of pending work by name. Work that became due by a month's jump is checked hourly only. */
const PENDING_WORK_SQL = `
  SELECT (SELECT count(*) FROM generations WHERE status = 'queued')                         AS generations,
         (SELECT count(*) FROM accounts a
           WHERE a.auto_topup_enabled AND a.auto_topup_triggered_at IS NOT NULL AND a.suspended_at IS NULL
             AND a.balance < a.auto_topup_threshold_credits AND a.spendable_until > $1 AND a.stripe_customer_id IS NOT NULL
             AND coalesce(a.auto_topup_claimed_at, '-infinity') <= $1::timestamptz - ${AUTO_TOPUP_INTERVAL_SQL}
             AND NOT EXISTS (SELECT FROM topups t WHERE t.account_id = a.id AND t.kind = 'automatic'
                                                    AND t.status = 'pending'))                                   AS "automatic top-ups to start",
         (SELECT count(*) FROM webhook_deliveries d JOIN webhook_endpoints w ON w.id = d.endpoint_id AND w.disabled_at IS NULL
           WHERE d.status = 'pending' AND d.next_attempt_at <= $1::timestamptz + interval '10 seconds')            AS webhooks,
         (SELECT count(*) FROM accounts a JOIN subscriptions s ON s.id = a.subscription_id AND s.status = 'active'
           WHERE a.plan_slug IS NOT NULL AND a.period_end <= $1 AND a.period_end < s.paid_until) AS "periods to renew"`;

/**
 * Tasks that run, or are due soon. Pages that nothing is paid on are synced for a day. The files of a failed generation
 * are deleted 15 minutes later: a deletion that was not tried yet is not due before.
 */
const PENDING_TASKS_SQL = `
  SELECT kind, count(*), count(lease) > 0 AS "isRunning",
         cast(extract(epoch FROM min(run_at) - $1::timestamptz) * 1000 AS float8) AS "waitMs"
    FROM tasks
   WHERE lease IS NOT NULL
      OR (kind <> 'topup.page'
          AND run_at <= $1::timestamptz
                        + CASE WHEN kind LIKE '%.deleteFiles' AND attempts = 0 THEN interval '0' ELSE interval '2 minutes' END)
   GROUP BY kind`;

/** Older events are not checked: they may have been deleted. */
const EVENT_RETENTION_MS = 7 * 24 * 60 * 60 * 1_000;
/** Connected accounts use a webhook of their own, and a schedule checks them here. */
const UNTRACKED_EVENT_TYPES = ['account.updated'];

/** Finds refunds whose attempt was due, although Stripe responds and workers run. */
export async function findOverdueRefunds(client: Queryable, dueBefore: Date): Promise<Violation[]> {
  const { rows } = await client.query(
    `SELECT account_id::text AS account_id, kind, key, attempts, last_error, run_at
       FROM tasks WHERE kind = 'refund.issue' AND run_at < $1`,
    [dueBefore],
  );
  return rows.map(({ account_id: accountId, kind, key, attempts, last_error: lastError, run_at: dueAt }) => {
    const detail = `due ${(dueAt as Date).toISOString()}, ${attempts} attempts, ${lastError ?? 'no error'}`;
    return violate('owed-refunds-are-paid', accountId, `${kind} ${key}`, detail);
  });
}

/**
 * Returns the longest wait for the next attempt of a webhook or message, or for the lease of a task, in milliseconds.
 */
export async function findLongestRetryMs(client: Queryable, now: Date): Promise<number> {
  const { rows } = await client.query(
    `SELECT coalesce(max(extract(epoch FROM next_attempt_at - $1::timestamptz)), 0)::float8 * 1000 AS ms
       FROM (SELECT greatest(d.next_attempt_at, d.leased_until) AS next_attempt_at
               FROM webhook_deliveries d JOIN webhook_endpoints w ON w.id = d.endpoint_id AND w.disabled_at IS NULL
              WHERE d.status = 'pending'
              UNION ALL SELECT run_at FROM tasks WHERE lease IS NOT NULL OR (kind = 'email.send' AND run_at IS NOT NULL)) pending`,
    [now],
  );
  return Math.ceil(rows[0].ms as number) + 1_000;
}

/** Work that has not settled. */
interface PendingWork {
  /** Empty when all has settled. */
  descriptions: string[];
  /** Time until the first task is due, if all work is tasks that wait to be tried again; otherwise 0. */
  waitMs: number;
}

/** Finds the pending work. */
export async function findPendingWork(client: Queryable, environment: ChaosEnvironment): Promise<PendingWork> {
  const { rows } = await client.query(PENDING_WORK_SQL, [environment.now()]);
  const tasks = await client.query(PENDING_TASKS_SQL, [environment.now()]);
  const earliest = (environment.now().getTime() - EVENT_RETENTION_MS) / 1_000;
  const eventIds = environment.stripe.events
    .filter(({ type, created }) => !UNTRACKED_EVENT_TYPES.includes(type) && created > earliest)
    .map(({ id }) => id);
  const unknown = await client.query(
    `SELECT count(*) AS "events that have not arrived" FROM unnest($1::text[]) AS sent (id)
      WHERE NOT EXISTS (SELECT FROM payment_events e WHERE e.event_id = sent.id)`,
    [eventIds],
  );
  const others = Object.entries<string>({ ...rows[0], ...unknown.rows[0] })
    .filter(([, count]) => Number(count) > 0)
    .map(([what, count]) => `${count} ${what}`);
  const isWaiting = others.length === 0 && tasks.rows.length > 0 && tasks.rows.every(({ isRunning }) => !isRunning);
  return {
    descriptions: [...others, ...tasks.rows.map(({ kind, count }) => `${count} tasks ${kind}`)],
    waitMs: isWaiting ? Math.max(0, Math.min(...tasks.rows.map(({ waitMs }) => waitMs as number))) : 0,
  };
}
