import { expect } from 'chai';
import pg from 'pg';
import { RETENTION } from '../../shared/domain/features.ts';
import { buildPruneStatement } from '../../shared/domain/retention.ts';
import { PURGE_ACCOUNT } from '../../shared/domain/generations/purge.ts';
import { LISTS } from '../../shared/domain/webhooks/deliveries.ts';
import { createDatabase } from '../harness/databases.ts';

/** A table of a few rows. */
const WITHOUT_INDEX = 'oauth_signing_keys';

describe('statements that find few of many rows', () => {
  let client: pg.Client;
  before(async () => {
    client = new pg.Client(await createDatabase());
    await client.connect();
    // Small tables are then planned as large ones.
    for (const method of ['seqscan', 'bitmapscan', 'sort', 'hashjoin', 'mergejoin'])
      await client.query(`SET enable_${method} = off`);
    await client.query('SET plan_cache_mode = force_generic_plan');
  });
  after(() => client.end());

  for (const entry of RETENTION.filter((one) => typeof one !== 'function' && one.table !== WITHOUT_INDEX)) {
    if (typeof entry === 'function') continue;
    const { name, text, parameters } = buildPruneStatement(entry);
    it(`${name} finds the oldest rows by an index`, async () => {
      await client.query(`PREPARE ${name} AS ${text}`);
      const values = parameters.map(() => 'now()').join(', ');
      const { rows } = await client.query(`EXPLAIN (COSTS OFF) EXECUTE ${name} (${values})`);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      const scan = new RegExp(
        `Index (?:Only )?Scan using \\w+ on ${entry.table}(?: \\w+)?\\n\\s+Index Cond: \\(.*${entry.since} <= `,
      );
      expect(plan, plan)
        .to.match(scan)
        .and.to.not.match(/Seq Scan|Sort/);
    });
  }

  for (const [{ name, text, parameters }, index, values] of [
    [PURGE_ACCOUNT, 'generations_account_purge_idx', { now: 'now()', accountId: '1' }],
    [LISTS.failed.all, 'webhook_deliveries_failed_idx', { endpointId: '1', max: '10001', skip: '0', limit: '20' }],
  ] as const) {
    it(`${name} reads ${index}`, async () => {
      await client.query(`PREPARE ${name} AS ${text}`);
      const list = parameters.map((parameter) => (values as Record<string, string>)[parameter]).join(', ');
      const { rows } = await client.query(`EXPLAIN (COSTS OFF) EXECUTE ${name} (${list})`);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan, plan).to.match(new RegExp(`using ${index} on`));
    });
  }
});
