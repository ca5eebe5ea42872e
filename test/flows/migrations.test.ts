import knex, { type Knex } from 'knex';
import { expect } from 'chai';
import { migrate } from '../../migrations/migrate.ts';
import { MIGRATION_NAMES } from '../../shared/lib/migrationNames.ts';
import { createDatabase } from '../harness/databases.ts';

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
    const applied = await Promise.all([connect(url), connect(url), connect(url)].map(migrate));
    expect(applied.flat().toSorted()).to.deep.equal([...MIGRATION_NAMES].toSorted());
    expect(await migrate(connect(url))).to.deep.equal([]);
  });
});
