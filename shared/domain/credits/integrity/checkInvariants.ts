import { INVARIANTS } from './allInvariants.ts';
import type { Invariant, Queryable, Violation } from './invariant.ts';

/** Of what breaks one invariant so much is told: where more is wrong, more of the same says nothing new. */
export const VIOLATIONS_MAX = 1_000;

export interface CheckOptions {
  /** Whether all that was under way has settled, so that what holds only then is checked, too. */
  isSettled: boolean;
  /** By the service's clock. */
  now: Date;
}

export interface CheckResult {
  invariant: Invariant;
  violations: Violation[];
  milliseconds: number;
}

/** What breaks an invariant in the transaction that the session is in, at most 1,000 of it. */
export async function findViolations(
  client: Queryable,
  { name, statement, query }: Invariant,
  now: Date,
): Promise<Violation[]> {
  // The parameter is given to each, whether it asks for the time or not.
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

/** Runs some work in one snapshot of the database, in which it can change nothing. */
export async function withReadOnlySnapshot<Result>(client: Queryable, work: () => Promise<Result>): Promise<Result> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  try {
    // Room for sums by account, and one core at the most: the database has customers to serve.
    await client.query(`SET LOCAL work_mem = '64MB'`);
    await client.query('SET LOCAL max_parallel_workers_per_gather = 0');
    // All are joins of sums; what a pattern of effects matches is guessed far too low for loops.
    await client.query('SET LOCAL enable_nestloop = off');
    return await work();
  } finally {
    // A session that is lost has nothing to roll back.
    await client.query('ROLLBACK').catch(() => {});
  }
}

/** Checks one invariant after the other, in the transaction that the session is in. */
export async function* checkEach(client: Queryable, { isSettled, now }: CheckOptions): AsyncGenerator<CheckResult> {
  for (const invariant of INVARIANTS) {
    if (invariant.checkedWhen === 'when settled' && !isSettled) continue;
    const start = performance.now();
    const violations = await findViolations(client, invariant, now);
    yield { invariant, violations, milliseconds: performance.now() - start };
  }
}

/** What breaks any of the invariants, all of them seen in one snapshot of the database. */
export async function checkInvariants(client: Queryable, options: CheckOptions): Promise<Violation[]> {
  return withReadOnlySnapshot(client, async () => {
    const found: Violation[] = [];
    for await (const { violations } of checkEach(client, options)) found.push(...violations);
    return found;
  });
}
