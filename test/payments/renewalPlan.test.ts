import { expect } from 'chai';
import pg from 'pg';
import { RENEW_LARGE_BATCH, RENEW_SMALL_BATCH } from '../../shared/domain/credits/renewDuePeriods.ts';
import { createDatabase } from '../harness/databases.ts';
import { explainPrepared, PLAN_CACHE_MODES } from '../harness/explainPrepared.ts';
import { REWRITE_PLAN_HISTORY } from '../harness/planHistory.ts';
import { eventually } from '../harness/testService.ts';

const DUE = 10_000;

/** Writes accounts whose month ended within the last day. */
const SEED = `
  INSERT INTO accounts (uuid, email, social_provider, onboarding_step, created_at, plan_slug, parallel_limit, balance,
                        plan_credits, period_start, period_end, period_granted, ledger_count)
  SELECT gen_random_uuid(), n || '@example.com', 'dev', 'complete', ended - interval '1 month', 'studio', 8, 3000, 3000,
         ended - interval '1 month', ended, 3000, 1
    FROM generate_series(1, ${DUE}) AS n, LATERAL (SELECT now() - (n * 7 % 86400) * interval '1 second' AS ended) at;
  INSERT INTO subscriptions (uuid, account_id, plan_slug, status, processor, started_at, current_period_end, paid_until, created_at)
  SELECT gen_random_uuid(), id, plan_slug, 'active', 'stripe', created_at, now() + interval '1 year',
         now() + interval '1 year', created_at FROM accounts;
  UPDATE accounts a SET subscription_id = s.id FROM subscriptions s WHERE s.account_id = a.id;
  ${REWRITE_PLAN_HISTORY.trim()};
  VACUUM ANALYZE accounts, subscriptions, subscription_plans`;

describe('the statement that renews due credit periods', () => {
  let client: pg.Client;
  /** Changes accounts while `client` waits. */
  let changes: pg.Client;
  before(async () => {
    const connection = await createDatabase();
    [client, changes] = [new pg.Client(connection), new pg.Client(connection)];
    await Promise.all([client.connect(), changes.connect()]);
    for (const statement of SEED.split(';\n')) await client.query(statement);
  });
  after(() => Promise.all([client.end(), changes.end()]));

  for (const { statement, size } of [
    { statement: RENEW_SMALL_BATCH, size: 10 },
    { statement: RENEW_LARGE_BATCH, size: 100 },
  ]) {
    for (const mode of PLAN_CACHE_MODES) {
      it(`reads only the ${size} accounts of its batch of ${DUE} that are due, with ${mode}`, async () => {
        const values = { now: 'now()', until: 'now()', from: `'1970-01-01'`, skipped: `'{}'` };
        const plan = await explainPrepared(client, statement, values, mode);
        const [, read] = /using accounts_period_end_idx on accounts a \(actual rows=(\d+)/.exec(plan) ?? [];
        expect(Number(read), plan).to.equal(size);
      });
    }
  }

  it('decides about an account that changed after it was found by its new row', async () => {
    const { text, parameters } = RENEW_SMALL_BATCH;
    const { rows: due } = await client.query<{ id: string }>(
      'SELECT id FROM accounts WHERE period_end <= now() ORDER BY period_end LIMIT 2',
    );
    const [renewed, other] = due.map(({ id }) => id);
    await client.query(`UPDATE subscriptions SET paid_until = now() - interval '1 minute' WHERE account_id = $1`, [
      renewed,
    ]);
    // The statement reads the subscription of an account after it has taken its snapshot, and before it locks the
    // account.
    await client.query('ALTER TABLE subscriptions RENAME TO stored_subscriptions');
    await client.query(`
      CREATE VIEW subscriptions AS SELECT s.* FROM stored_subscriptions s,
        LATERAL pg_sleep(CASE WHEN s.account_id = ${renewed} THEN 1 ELSE 0 END)`);
    const values: Record<string, unknown> = { now: new Date(), until: new Date(), from: new Date(0), skipped: [] };
    const renew = () =>
      client.query(
        text,
        parameters.map((parameter) => values[parameter]),
      );
    const renewing = renew();
    await eventually('the statement waits', async () => {
      const { rows } = await changes.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`,
      );
      return rows.length > 0;
    });
    // As another run, which renews the last month that was paid.
    await changes.query(
      `UPDATE accounts a SET period_end = s.paid_until, period_index = 11
         FROM stored_subscriptions s WHERE s.id = a.subscription_id AND a.id = $1`,
      [renewed],
    );
    await changes.query(`UPDATE accounts SET period_end = now() - interval '2 days' WHERE id = $1`, [other]);
    await renewing;
    await renew();
    const { rows: grants } = await changes.query<{ account_id: string; grants: number }>(
      `SELECT account_id, cast(count(*) AS int) AS grants FROM ledger_entries
        WHERE entry_type = 'grant' AND account_id = ANY ($1) GROUP BY account_id`,
      [[renewed, other]],
    );
    expect(grants).to.deep.equal([{ account_id: other, grants: 1 }]);
  });
});
