import { expect } from 'chai';
import type { Knex } from 'knex';
import { isDeadlock, isOutage, isOutcomeUnknown, isRejection } from '../../shared/lib/database/errors.ts';
import { createPool, db } from '../../shared/lib/database/pool.ts';
import { prepared, runStatement } from '../../shared/lib/database/preparedStatements.ts';
import { setTestConfig } from '../harness/testConfig.ts';
import { eventually, useTestService } from '../harness/testService.ts';

const GET_SESSION = prepared('get_test_session', 'SELECT pg_backend_pid() AS pid, :mark AS mark');
const END_SESSION = prepared('end_test_session', 'SELECT pg_terminate_backend(pg_backend_pid())');
const LOCK_SECOND_THEN_FIRST = prepared(
  'lock_in_test',
  `WITH second AS MATERIALIZED (SELECT pg_advisory_xact_lock(2) AS lock)
   SELECT pg_advisory_xact_lock(1), lock FROM second`,
);
const FAIL = prepared('fail_test', 'SELECT 1 / cast(:divisor AS int)');

const capture = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => expect.fail('no error'),
    (error: Error) => error,
  );

describe('a prepared statement', () => {
  useTestService({ workers: 0, env: { DATABASE_POOL_MAX: '2', DATABASE_TIMEOUT_MS: '1000' } });

  /** Occupies a connection of the pool, so that one is left for the test. */
  let held: Knex.Transaction;
  beforeEach(async () => {
    held = await db.transaction();
  });
  afterEach(() => held.rollback());

  it('numbers its parameters by name, and leaves quoted strings and casts as they are', () => {
    const statement = prepared('text', `SELECT :b::text, :a, ':a', 'it''s :a', cast(:b AS int), '{}'::jsonb`);
    expect(statement.parameters).to.deep.equal(['b', 'a']);
    expect(statement.text).to.equal(`SELECT $1::text, $2, ':a', 'it''s :a', cast($1 AS int), '{}'::jsonb`);
  });

  it('runs in the transaction that it is given, and is rejected once that has ended', async () => {
    const transaction = await db.transaction();
    const [before] = await runStatement<{ pid: number }>(GET_SESSION, { mark: 'a' }, transaction);
    const { rows } = await transaction.raw('SELECT pg_backend_pid() AS pid');
    expect(before?.pid).to.equal(rows[0].pid);
    await transaction.commit();
    const error = await capture(runStatement(GET_SESSION, { mark: 'a' }, transaction));
    expect(error.message).to.equal('get_test_session: the transaction has ended.');
  });

  it('is rejected without a value for each parameter, and sends null for null', async () => {
    const error = await capture(runStatement(GET_SESSION, { mark: undefined }));
    expect(error.message).to.equal('Parameter mark of the statement get_test_session has no value.');
    expect((await runStatement<{ mark: null }>(GET_SESSION, { mark: null }))[0]?.mark).to.equal(null);
  });

  it('is rejected with the error of Postgres, without its text, and the next one runs', async () => {
    const error = await capture(runStatement(FAIL, { divisor: 0 }));
    expect(error).to.include({ message: 'division by zero', code: '22012' });
    expect(isRejection(error)).to.equal(true);
    // On the same connection or on a new one: the pool does not wait until Postgres is ready after an error.
    expect((await runStatement<{ mark: string }>(GET_SESSION, { mark: 'next' }))[0]?.mark).to.equal('next');
  });

  it('has an unknown outcome if its connection is lost, and the next one gets a new connection', async () => {
    const [before] = await runStatement<{ pid: number }>(GET_SESSION, { mark: '' });
    const error = await capture(runStatement(END_SESSION, {}));
    expect(error).to.include({ code: '57P01' });
    expect(isOutcomeUnknown(error)).to.equal(true);
    expect((await runStatement<{ pid: number }>(GET_SESSION, { mark: '' }))[0]?.pid).to.not.equal(before?.pid);
  });

  it('waits for a connection of the pool only until the timeout', async () => {
    const transaction = await db.transaction();
    try {
      const error = await capture(runStatement(GET_SESSION, { mark: '' }));
      expect(error.name).to.equal('KnexTimeoutError');
    } finally {
      await transaction.rollback();
    }
  });
});

describe('a prepared statement that Postgres ends because of a deadlock', () => {
  const service = useTestService({ workers: 0 });

  /** Runs beside a transaction that locks in the other order. Only the statement looks for deadlocks. */
  async function runInDeadlock(within?: Knex.Transaction): Promise<unknown> {
    const other = await db.transaction();
    await other.raw(`SET LOCAL deadlock_timeout = '1min'`);
    await other.raw('SELECT pg_advisory_xact_lock(1)');
    const running = runStatement(LOCK_SECOND_THEN_FIRST, {}, within).then(
      () => undefined,
      (error: unknown) => error,
    );
    await eventually('the statement waits', async () => (await service.countLockWaits()) === 1);
    await other.raw('SELECT pg_advisory_xact_lock(2)');
    await other.commit();
    return running;
  }

  it('is repeated outside of a transaction', async () => {
    expect(await runInDeadlock()).to.equal(undefined);
  });

  it('is rejected in a transaction', async () => {
    const transaction = await db.transaction();
    try {
      expect(isDeadlock(await runInDeadlock(transaction))).to.equal(true);
    } finally {
      await transaction.rollback();
    }
  });
});

describe('a prepared statement that gets no connection', () => {
  for (const [problem, host] of [
    ['because Postgres refuses it', '127.0.0.1:1'],
    ['because the name of Postgres is not found', 'postgres.invalid'],
  ]) {
    it(`${problem} was certainly not run`, async () => {
      setTestConfig({ DATABASE_URL: `postgres://user@${host}/name` });
      const pool = createPool(1_000);
      const error = await capture(runStatement(GET_SESSION, { mark: '' }, pool));
      await pool.destroy();
      expect([isOutage(error), isOutcomeUnknown(error)], error.message).to.deep.equal([true, false]);
    });
  }
});
