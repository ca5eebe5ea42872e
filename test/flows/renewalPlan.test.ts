import { expect } from 'chai';
import pg from 'pg';
import { RENEW_DUE_PERIODS } from '../../shared/domain/credits/renewDuePeriods.ts';
import { createDatabase } from '../harness/databases.ts';

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
  VACUUM ANALYZE accounts, subscriptions`;

describe('the statement that renews due credit periods', () => {
  let client: pg.Client;
  before(async () => {
    client = new pg.Client(await createDatabase());
    await client.connect();
    for (const statement of SEED.split(';\n')) await client.query(statement);
  });
  after(() => client.end());

  for (const mode of ['force_generic_plan', 'force_custom_plan']) {
    it(`reads only the accounts of its batch of ${DUE} that are due, with ${mode}`, async () => {
      const { name, text, parameters } = RENEW_DUE_PERIODS;
      const values: Record<string, string> = { now: 'now()', until: 'now()', from: `'1970-01-01'` };
      await client.query(`SET plan_cache_mode = ${mode}; PREPARE ${name}_${mode} AS ${text}`);
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(
        `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF)
         EXECUTE ${name}_${mode} (${parameters.map((parameter) => values[parameter]).join(', ')})`,
      );
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      const [, read] = /using accounts_period_end_idx on accounts a \(actual rows=(\d+)/.exec(plan) ?? [];
      expect(Number(read), plan).to.equal(100);
    });
  }
});
