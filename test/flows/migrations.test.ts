import knex, { type Knex } from 'knex';
import { expect } from 'chai';
import { connectTo } from '../../dev/local/environment/databases.ts';
import { partitionByAccount } from '../../dev/partitioning/partitionByAccount.ts';
import { migrate } from '../../migrations/migrate.ts';
import { type Migration, parseMigration, readMigrations } from '../../migrations/readMigrations.ts';
import { SQL_FUNCTIONS } from '../../shared/domain/features.ts';
import { installSqlFunctions, type SqlFunction } from '../../shared/lib/database/sqlFunctions.ts';
import { MIGRATION_NAMES } from '../../shared/lib/migrationNames.ts';
import { createDatabase } from '../harness/databases.ts';
import { expectRejection } from '../harness/expectRejection.ts';

const withIndex = (on: string, unique = false): Record<string, Migration> => ({
  ...readMigrations(),
  '9001_index': parseMigration(`CREATE ${unique ? 'UNIQUE ' : ''}INDEX CONCURRENTLY test_idx ON ${on};`),
  '9002_table': parseMigration('CREATE TABLE later ();'),
});

const findIndex = async (db: Knex) =>
  (await db.raw("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('test_idx')")).rows[0]?.indisvalid;

describe('migrations', () => {
  const open: Knex[] = [];
  const connect = (connection: string) => {
    const db = knex({ client: 'pg', connection, pool: { min: 0, max: 4 } });
    open.push(db);
    return db;
  };

  after(() => Promise.all(open.map((db) => db.destroy())));

  it('are each applied once by three concurrent processes, and a later run applies none', async () => {
    const url = await createDatabase({ empty: true });
    const applied = await Promise.all([connect(url), connect(url), connect(url)].map((db) => migrate(db)));
    expect(applied.flat().toSorted()).to.deep.equal([...MIGRATION_NAMES].toSorted());
    expect(await migrate(connect(url))).to.deep.equal([]);
  });

  it('are not applied to a database of another series, which gets a sentence that says so', async () => {
    const db = connect(await createDatabase());
    await db.raw(`INSERT INTO migrations VALUES ('9001_newer', now())`);
    expect(await migrate(db)).to.deep.equal([]);
    await db.raw(`DELETE FROM migrations WHERE name = '0001_baseline'`);
    await expectRejection(migrate(db), /has the migration 9001_newer.*but not 0001_baseline: it belongs to/);
  });

  it('install the functions of the release, and keep those of the two releases before', async () => {
    const db = connect(await createDatabase());
    const list = async (name: string): Promise<string[]> =>
      db('pg_proc').where('proname', 'like', `${name}\\_%`).orderBy('oid').pluck('proname');
    for (const { name, installedName, text } of SQL_FUNCTIONS) {
      expect(await list(name)).to.deep.equal([installedName]);
      const [{ prosrc: source }] = await db('pg_proc').where({ proname: installedName }).select('prosrc');
      expect(text.split('$$')[1]).to.equal(source);
    }
    const [{ name, installedName, text }] = SQL_FUNCTIONS as [SqlFunction];
    const others = ['11111111', '22222222', '33333333'].map((digest) => `${name}_${digest}`);
    const install = (other: string) =>
      db.transaction((transaction) =>
        installSqlFunctions(transaction, [
          { name, installedName: other, text: text.replaceAll(`${installedName}(`, `${other}(`) },
        ]),
      );
    for (const other of others) await install(other);
    expect(await list(name)).to.deep.equal(others);
    await migrate(db);
    expect(await list(name)).to.deep.equal([...others.slice(1), installedName]);
  });

  describe('with concurrent indexes', () => {
    it('build them once from three concurrent processes, while a writer has an open transaction', async () => {
      const url = await createDatabase();
      const db = connect(url);
      const writer = await db.transaction();
      await writer.raw("INSERT INTO sync_cursors VALUES ('writer', now())");
      const migrating = Promise.all(
        [connect(url), connect(url), connect(url)].map((each) =>
          migrate(each, withIndex('sync_cursors (synced_through)')),
        ),
      );
      // The build waits for the transaction, and other writers do not wait for the build.
      await db.raw("INSERT INTO sync_cursors VALUES ('another', now())");
      await writer.commit();
      expect((await migrating).flat()).to.have.members(['9001_index', '9002_table']);
      expect(await findIndex(db)).to.equal(true);
    });

    it('record nothing if a build fails, and replace its invalid index in the next run', async () => {
      const url = await createDatabase();
      const db = connect(url);
      await db.raw("INSERT INTO sync_cursors VALUES ('one', '2026-01-01'), ('two', '2026-01-01')");
      const migrations = withIndex('sync_cursors (synced_through)', true);
      await expectRejection(migrate(db, migrations), /could not create unique index/);
      expect(await findIndex(db)).to.equal(false);
      expect(await db('migrations').where('name', '9001_index')).to.deep.equal([]);

      await db.raw("DELETE FROM sync_cursors WHERE subject = 'two'");
      expect(await migrate(db, migrations)).to.deep.equal(['9001_index', '9002_table']);
      expect(await findIndex(db)).to.equal(true);
    });

    it('build that of a partitioned table for each partition, and continue after an interruption', async () => {
      const url = await createDatabase();
      const db = connect(url);
      const client = await connectTo(url);
      await partitionByAccount(client, 3);
      await client.end();
      // An interrupted run left one partition with a valid index, one with an invalid one, and one without.
      await db.raw(`CREATE UNIQUE INDEX test_idx ON ONLY usage_totals (account_id, model, credits);
        CREATE UNIQUE INDEX test_idx_p0 ON usage_totals_p0 (account_id, model, credits);
        CREATE UNIQUE INDEX test_idx_p1 ON usage_totals_p1 (account_id, model, credits);
        UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'test_idx_p1'::regclass`);
      const migrations = withIndex('usage_totals (account_id, model, credits)', true);
      expect(await migrate(db, migrations)).to.deep.equal(['9001_index', '9002_table']);
      expect(await findIndex(db)).to.equal(true);
      const { rows } = await db.raw(
        "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'test_idx'::regclass ORDER BY 1",
      );
      expect(rows.map(({ name }: { name: string }) => name)).to.deep.equal([
        'test_idx_p0',
        'test_idx_p1',
        'test_idx_p2',
      ]);
    });
  });

  it('set the fill factor of generations, which each partition keeps', async () => {
    const url = await createDatabase();
    const db = connect(url);
    const list = async () =>
      (await db.raw("SELECT reloptions FROM pg_class WHERE relkind = 'r' AND relname ~ '^generations(|_p[0-9]+)$'"))
        .rows;
    expect(await list()).to.deep.equal([{ reloptions: ['fillfactor=45'] }]);
    const client = await connectTo(url);
    await partitionByAccount(client, 3);
    await client.end();
    expect(await list()).to.deep.equal(Array.from({ length: 3 }, () => ({ reloptions: ['fillfactor=45'] })));
  });
});
