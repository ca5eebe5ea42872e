import { INVARIANTS } from '../features.ts';
import type { Invariant, Queryable, Violation } from '../invariant.ts';

/** Violations reported for one invariant. More of the same kind add no information. */
export const VIOLATIONS_MAX = 1_000;

export interface CheckOptions {
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
