import { SUBJECT_INVARIANTS } from '../features.ts';
import type { Invariant, Queryable, Violation } from '../invariant.ts';
import { ALL_TASK_KINDS } from '../privacy/taskKinds.ts';
import { buildTaskInvariants } from '../tasks/invariants.ts';

/**
 * Invariants of the database, one named query each. None needs the configuration or a connection of the service, so
 * that any caller with a connection can check the database behind it.
 */
export const INVARIANTS: readonly Invariant[] = [...SUBJECT_INVARIANTS, ...buildTaskInvariants(ALL_TASK_KINDS)];
export type { Invariant, Queryable, Violation } from '../invariant.ts';

/** Violations reported for one invariant. More of the same kind add no information. */
export const VIOLATIONS_MAX = 1_000;

interface CheckOptions {
  /** Also check the invariants that hold only when no work is in progress. */
  isDrained: boolean;
  /** Current time of the service's clock. */
  now: Date;
}

export interface CheckResult {
  invariant: Invariant;
  violations: Violation[];
  milliseconds: number;
}

/** Finds the violations of an invariant in the current transaction of the session, at most 1,000. */
export async function findViolations(
  client: Queryable,
  { name, statement, query }: Invariant,
  now: Date,
): Promise<Violation[]> {
  // Postgres rejects a parameter that the text does not use, and not every invariant needs the time.
  const { rows } = await client.query(
    `WITH moment AS (SELECT $1::timestamptz AS now)
     SELECT account_id::text AS "accountId", subject::text, detail::text FROM (${query}) AS found
      ORDER BY found.account_id, subject, detail LIMIT ${VIOLATIONS_MAX}`,
    [now],
  );
  return rows.map((row: Pick<Violation, 'accountId' | 'subject' | 'detail'>) => ({
    invariant: name,
    statement,
    ...row,
  }));
}

/** Runs `work` in one read-only snapshot of the database. */
export async function withReadOnlySnapshot<Result>(client: Queryable, work: () => Promise<Result>): Promise<Result> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  try {
    // A role or a database may limit statements for the service; these take minutes in a large database.
    await client.query('SET LOCAL statement_timeout = 0');
    // Memory for sums by account, and at most one core: the database serves customers meanwhile.
    await client.query(`SET LOCAL work_mem = '64MB'`);
    await client.query('SET LOCAL max_parallel_workers_per_gather = 0');
    // The queries join sums. Postgres underestimates the matches of the effect key patterns and would choose loops.
    await client.query('SET LOCAL enable_nestloop = off');
    return await work();
  } finally {
    // A lost session has nothing to roll back.
    await client.query('ROLLBACK').catch(() => {});
  }
}

/** Checks the invariants one by one in the current transaction of the session. */
export async function* checkEach(client: Queryable, { isDrained, now }: CheckOptions): AsyncGenerator<CheckResult> {
  for (const invariant of INVARIANTS) {
    if (invariant.checkedWhen === 'when drained' && !isDrained) continue;
    const start = performance.now();
    const violations = await findViolations(client, invariant, now);
    yield { invariant, violations, milliseconds: performance.now() - start };
  }
}

/** Finds the violations of all invariants in one snapshot of the database. */
export async function checkInvariants(client: Queryable, options: CheckOptions): Promise<Violation[]> {
  return withReadOnlySnapshot(client, async () => {
    const found: Violation[] = [];
    for await (const { violations } of checkEach(client, options)) found.push(...violations);
    return found;
  });
}

/** Lines of each kind in a history, the newest ones. */
const MAX_LINES_PER_KIND = 500;

/** One query per kind of event: its time and its line. $1 is the account's id. */
const HISTORY_QUERIES: readonly string[] = [
  `SELECT created_at AS at, format('account %s (%s) created', id, uuid) AS line FROM accounts WHERE id = $1`,
  `SELECT created_at, format('ledger %s: %s %s (plan %s), balance %s; %s%s', number, entry_type, amount, plan_amount,
          balance_after, description, coalesce(' [' || coalesce(effect_key, generation_uuid::text) || ']', ''))
     FROM ledger_entries WHERE account_id = $1`,
  `SELECT created_at, format('generation %s (%s) created: %s, %s credits (plan %s)%s', number, uuid, model,
          credits_charged, plan_credits_charged, CASE WHEN status = 'queued' THEN format(
          '; queued, upstream %s, %s unconfirmed submits, next attempt %s, deadline %s', coalesce(upstream, 'none'),
          unconfirmed_submits, next_attempt_at, deadline_at) END)
     FROM generations WHERE account_id = $1`,
  `SELECT completed_at, format('generation %s (%s) %s%s', number, uuid, status, coalesce(': ' || error_message, ''))
     FROM generations WHERE account_id = $1 AND completed_at IS NOT NULL`,
  `SELECT deleted_at, format('generation %s (%s) deleted', number, uuid)
     FROM generations WHERE account_id = $1 AND deleted_at IS NOT NULL`,
  `SELECT created_at, format('top-up %s (%s) created: %s cents for %s credits; now %s', uuid, kind, amount_cents, credits, status)
     FROM topups WHERE account_id = $1`,
  `SELECT completed_at, format('top-up %s %s%s; %s cents reversed, %s credits taken back in %s reversals', uuid, status,
          coalesce(' (' || failure_code || ')', ''), reversed_cents, credits_reversed, reversal_count)
     FROM topups WHERE account_id = $1 AND completed_at IS NOT NULL`,
  `SELECT created_at, format('invoice %s (%s) created: %s, %s cents, of which %s tax; %s cents refunded%s', uuid, coalesce(number, 'no number'),
          status, total_cents, tax_cents, refunded_cents, coalesce('; ' || commission_problem, '')) FROM invoices WHERE account_id = $1`,
  `SELECT created_at, format('subscription %s (%s) created: %s, %s, from %s, paid until %s, period ends %s, last sync %s',
          id, uuid, plan_slug, status, started_at, paid_until, current_period_end, coalesce(synced_at::text, 'never'))
     FROM subscriptions WHERE account_id = $1`,
  `SELECT activated_at, format('subscription %s activated', id) FROM subscriptions WHERE account_id = $1 AND activated_at IS NOT NULL`,
  `SELECT e.received_at, format('event %s (%s of %s) received; %s', e.event_id, e.type, e.object_id,
          coalesce('processed ' || e.processed_at, format('not processed after %s attempts: %s', t.attempts, t.last_error)))
     FROM payment_events e JOIN accounts a ON a.id = $1 AND strpos(e.payload, a.stripe_customer_id) > 0
     LEFT JOIN tasks t ON t.kind = 'payment.event' AND t.key = e.event_id`,
  `SELECT created_at, format('API key %s (%s) created', number, prefix) FROM api_keys WHERE account_id = $1`,
  `SELECT revoked_at, format('API key %s (%s) revoked', number, prefix)
     FROM api_keys WHERE account_id = $1 AND revoked_at IS NOT NULL`,
  `SELECT created_at, format('audit entry %s: %s of %s %s', number, action, target_type, target_id)
     FROM audit_entries WHERE account_id = $1`,
  `SELECT created_at, format('commission %s for affiliate %s: invoice %s, %s of %s cents, %s settled', id, affiliate_id,
          invoice_id, amount_cents, paid_cents, settled_cents)
     FROM commissions WHERE account_id = $1 OR affiliate_id = $1`,
  `SELECT created_at, format('payout %s of %s cents for %s created; now %s', uuid, amount_cents, month, status)
     FROM payouts WHERE affiliate_id = $1`,
];

/** The columns of the account, without personal data. */
const CURRENT_ACCOUNT_COLUMNS = `
  SELECT key, value FROM accounts a, jsonb_each_text(to_jsonb(a)) WHERE a.id = $1
     AND key NOT IN ('id', 'uuid', 'email', 'first_name', 'use_case', 'language') AND value IS NOT NULL ORDER BY key`;

/**
 * Returns the history of an account as text lines in order of time: its ledger, generations, top-ups, subscriptions,
 * events, keys and commissions, the newest 500 of each. The last line has the current columns of the account.
 */
export async function readAccountHistory(client: Queryable, accountId: string): Promise<string[]> {
  const newest = HISTORY_QUERIES.map(
    (kind, index) => `(SELECT * FROM (${kind}) AS k${index} (at, line) ORDER BY at DESC LIMIT ${MAX_LINES_PER_KIND})`,
  );
  const happened = await client.query(
    `SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at, line
       FROM (${newest.join(' UNION ALL ')}) AS happened ORDER BY happened.at, line`,
    [accountId],
  );
  const now = await client.query(CURRENT_ACCOUNT_COLUMNS, [accountId]);
  return [
    ...happened.rows.map(({ at, line }: { at: string; line: string }) => `${at}  ${line}`),
    `now  ${now.rows.map(({ key, value }: { key: string; value: string }) => `${key} ${value}`).join(', ')}`,
  ];
}
