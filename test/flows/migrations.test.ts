import knex, { type Knex } from 'knex';
import { expect } from 'chai';
import * as usedThisPeriod from '../../migrations/0009_used_this_period.ts';
import { migrate } from '../../migrations/migrate.ts';
import { MIGRATION_NAMES } from '../../shared/lib/migrationNames.ts';
import { createDatabase } from '../harness/databases.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';

const ACCOUNTS = 5_000;
const GENERATIONS_EACH = 10;

describe('migrations', () => {
  const open: Knex[] = [];
  const connect = (connection: string) => {
    const db = knex({ client: 'pg', connection, pool: { min: 0, max: 4 } });
    open.push(db);
    return db;
  };

  after(() => Promise.all(open.map((db) => db.destroy())));

  it('are applied once, whoever else is at it, and then there is nothing to do', async () => {
    const url = await createDatabase({ empty: true });
    const applied = await Promise.all([connect(url), connect(url), connect(url)].map(migrate));
    expect(applied.flat().toSorted()).to.deep.equal([...MIGRATION_NAMES].toSorted());
    expect(await migrate(connect(url))).to.deep.equal([]);
  });

  it('find out what was used before this month in one pass over the generations', async () => {
    const db = connect(await createDatabase());
    await usedThisPeriod.down(db);
    await db.raw(`
      INSERT INTO accounts (uuid, email, social_provider, created_at, period_start, generation_count)
      SELECT gen_random_uuid(), n || '@example.com', 'google', now(), now() - interval '4.5 days', ${GENERATIONS_EACH}
        FROM generate_series(1, ${ACCOUNTS}) AS n;
      INSERT INTO generations (uuid, account_id, number, model, prompt, params, credits_charged, plan_credits_charged,
                               created_at, deadline_at, next_attempt_at, deleted_at)
      SELECT gen_random_uuid(), a.id, n, 'imgmodel-2', 'x', '{}', 8, 8, now() - (${GENERATIONS_EACH} - n) * interval '1 day', now(), now(),
             CASE WHEN n = 5 THEN now() END
        FROM accounts a, generate_series(1, ${GENERATIONS_EACH}) AS n`);
    const startedAt = performance.now();
    await db.transaction((transaction) => usedThisPeriod.up(transaction));
    // Once an account would be minutes.
    expect(performance.now() - startedAt).to.be.below(scaleTimeout(10_000));
    const { rows } = await db.raw(
      'SELECT generation_count_at_period_start, count(*)::int AS accounts FROM accounts GROUP BY 1',
    );
    expect(rows).to.deep.equal([{ generation_count_at_period_start: '5', accounts: ACCOUNTS }]);
  });
});
