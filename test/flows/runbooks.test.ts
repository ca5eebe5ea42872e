import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import pg from 'pg';
import { createDatabase } from '../harness/databases.ts';

const FOLDER = new URL('../../docs/operations/runbooks/', import.meta.url);

describe('runbooks', () => {
  it('contain only queries that the database accepts', async () => {
    const queries = readdirSync(FOLDER).flatMap((name) =>
      [...readFileSync(new URL(name, FOLDER), 'utf8').matchAll(/^psql "\$\w+" -c "(.*)"$/gm)].map(
        ([, sql = '']) => sql,
      ),
    );
    expect(queries).to.have.length.above(15);
    const client = new pg.Client(await createDatabase());
    await client.connect();
    try {
      for (const sql of queries) {
        // Planned and not run: some need a standby.
        const checked = sql.startsWith('SELECT') ? `EXPLAIN ${sql}` : sql;
        await client.query(checked).catch((error: Error) => expect.fail(`${sql}: ${error.message}`));
      }
    } finally {
      await client.end();
    }
  });
});
