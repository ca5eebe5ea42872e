import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { connectTo } from '../../dev/local/environment/databases.ts';
import { partitionByAccount, PARTITIONED_TABLES } from '../../dev/partitioning/partitionByAccount.ts';
import { REUSE_PLANS_OF_PARTITIONS } from '../../migrations/reusePlans.ts';
import { NESTED_RUN_FIRST_PORT } from '../harness/ports.ts';
import { createDatabase } from '../harness/databases.ts';
import { expectRejection } from '../harness/expectRejection.ts';
import { writeLedgerFixture } from '../harness/ledgerFixture.ts';

/**
 * Tests that execute every statement of the service on these tables, under concurrency, too. `docs/scaling.md` has
 * the reason for the choice.
 */
const FILES = [
  'test/contract/generations.test.ts',
  'test/contract/generationFilters.test.ts',
  'test/flows/generationInputs.test.ts',
  'test/flows/spendingLimits.test.ts',
  'test/flows/usageByKey.test.ts',
  'test/resilience/cancelSubmitted.test.ts',
  'test/payments/creditPeriods.test.ts',
  'test/resilience/sweepFairness.test.ts',
];

describe('tables that are partitioned by account', () => {
  it('keep their rows, keys, indexes, triggers, comments and privileges, and reuse plans', async () => {
    const client = await connectTo(await createDatabase());
    const reader = `reader_${process.pid}`;
    const describeTables = async () => {
      const { rows } = await client.query(
        `SELECT c.relname, obj_description(c.oid) AS comment, c.relowner::regrole::text AS owner, c.relacl::text AS acl,
                array(SELECT a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull || ' '
                             || coalesce(pg_get_expr(d.adbin, d.adrelid), '') || coalesce(col_description(c.oid, a.attnum), '')
                        FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
                       WHERE a.attrelid = c.oid AND a.attnum > 0 ORDER BY a.attnum) AS columns,
                array(SELECT k.conname || ' ' || pg_get_constraintdef(k.oid)
                        FROM pg_constraint k WHERE k.conrelid = c.oid ORDER BY 1) AS constraints,
                array(SELECT replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ')
                        FROM pg_index i WHERE i.indrelid = c.oid ORDER BY 1) AS indexes,
                array(SELECT pg_get_triggerdef(t.oid)
                        FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal ORDER BY 1) AS triggers
           FROM pg_class c WHERE c.oid = ANY ($1::regclass[]) ORDER BY c.relname`,
        [PARTITIONED_TABLES],
      );
      const counts: Record<string, string> = {};
      for (const table of PARTITIONED_TABLES) {
        const sums = await client.query(
          `SELECT md5(string_agg(t::text, E'\\n' ORDER BY t::text)) AS sum FROM ${table} t`,
        );
        counts[table] = sums.rows[0].sum;
      }
      return { rows, counts };
    };
    try {
      await writeLedgerFixture(client);
      await client.query(
        `CREATE ROLE ${reader}; GRANT SELECT, INSERT ON ledger_entries TO ${reader} WITH GRANT OPTION`,
      );
      const whole = await describeTables();
      await client.query('CREATE PUBLICATION changes FOR TABLE usage_days');
      await expectRejection(partitionByAccount(client, 3), /usage_days is published by changes/);
      await client.query(
        'DROP PUBLICATION changes; CREATE UNIQUE INDEX old_key ON usage_totals (model) WHERE credits < 0',
      );
      await expectRejection(
        partitionByAccount(client, 3),
        /usage_totals has unique keys without account_id.*: old_key/,
      );
      await client.query('DROP INDEX old_key');
      await partitionByAccount(client, 3);
      expect(await describeTables()).to.deep.equal(whole);
      const { rows } = await client.query(
        `SELECT DISTINCT partrelid::regclass::text AS name FROM pg_partitioned_table ORDER BY 1`,
      );
      expect(rows.map(({ name }) => name)).to.deep.equal([...PARTITIONED_TABLES].sort());
      const readSettings = () =>
        client.query(
          `SELECT setconfig FROM pg_db_role_setting JOIN pg_database d ON d.oid = setdatabase
            WHERE d.datname = current_database() AND setrole = 0`,
        );
      const settings = await readSettings();
      expect(settings.rows).to.deep.equal([{ setconfig: ['plan_cache_mode=force_generic_plan'] }]);
      // A restored dump has lost the setting; the release step repeats it, and leaves another one as it is.
      const { rows: names } = await client.query('SELECT current_database() AS name');
      await client.query(`ALTER DATABASE "${names[0].name}" RESET plan_cache_mode`);
      await client.query(REUSE_PLANS_OF_PARTITIONS);
      expect((await readSettings()).rows).to.deep.equal(settings.rows);
      await client.query(`ALTER DATABASE "${names[0].name}" SET plan_cache_mode = auto`);
      await client.query(REUSE_PLANS_OF_PARTITIONS);
      expect((await readSettings()).rows).to.deep.equal([{ setconfig: ['plan_cache_mode=auto'] }]);
      await expectRejection(client.query('TRUNCATE ledger_entries_p0'), /append-only: TRUNCATE rejected/);
      await expectRejection(partitionByAccount(client, 3), /is partitioned already/);
    } finally {
      await client.query(`DROP OWNED BY ${reader}; DROP ROLE ${reader}`);
      await client.end();
    }
  }).timeout(120_000);

  it('serve the service unchanged: contract and flow tests pass', async () => {
    const child = spawn(
      process.execPath,
      ['--import', 'tsx', 'test/run.ts', '--partitions', '4', '--jobs', '3', ...FILES],
      { env: { ...process.env, TEST_FIRST_PORT: String(NESTED_RUN_FIRST_PORT) } },
    );
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const [status] = (await once(child, 'close')) as [number];
    const report = output.replaceAll(/^ *\{"level".*\n/gm, '');
    expect(status, report).to.equal(0);
    expect(output).to.match(/^\d+ passed, 0 failed$/m);
  }).timeout(900_000);
});
