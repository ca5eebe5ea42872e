import { readdirSync } from 'node:fs';
import { expect } from 'chai';
import { parseMigration, readMigrations } from '../../migrations/readMigrations.ts';
import { MIGRATION_NAMES } from '../../shared/lib/migrationNames.ts';
import { findUnsafeStatements } from '../harness/migrationRules.ts';

const FOLDER = new URL('../../migrations/', import.meta.url);

describe('migrations', () => {
  it('are named in order in shared/lib/migrationNames.ts', () => {
    const files = readdirSync(FOLDER).filter((name) => /^\d{4}_/.test(name));
    expect(files.map((name) => name.replace('.sql', '')).toSorted()).to.deep.equal(MIGRATION_NAMES);
  });

  it('contain only statements that are safe while the previous release runs, after the baseline', () => {
    const [, ...later] = Object.entries(readMigrations());
    const unsafe = later.flatMap(([name, { sql }]) =>
      findUnsafeStatements(sql).map((instead) => `${name}: ${instead}`),
    );
    expect(unsafe).to.deep.equal([]);
  });

  it('build indexes concurrently before their other statements', () => {
    const { sql, concurrentIndexes } = parseMigration(
      `ALTER TABLE a ADD COLUMN b text;
CREATE INDEX CONCURRENTLY a_idx ON a (c)
  WHERE c <> 'd';
CREATE UNIQUE INDEX CONCURRENTLY a_unique ON a (c);
`,
    );
    expect(concurrentIndexes).to.deep.equal([
      { name: 'a_idx', on: "a (c)\n  WHERE c <> 'd'", unique: false },
      { name: 'a_unique', on: 'a (c)', unique: true },
    ]);
    expect(sql).to.match(/^ALTER TABLE a ADD COLUMN b text;\n(?:-- .*\n)+$/);
  });

  it('are checked for statements that break the previous release or block writes', () => {
    for (const sql of [
      'CREATE INDEX a_idx ON generations (model);',
      'CREATE UNIQUE INDEX a_idx ON generations (model);',
      'DROP INDEX a_idx;',
      'ALTER TABLE accounts DROP COLUMN email;',
      'DROP TABLE accounts;',
      'ALTER TABLE accounts RENAME COLUMN email TO mail;',
      'ALTER TABLE accounts ALTER COLUMN email TYPE varchar(10);',
      'ALTER TABLE accounts ALTER COLUMN email SET NOT NULL;',
      'ALTER TABLE accounts ADD COLUMN mail text NOT NULL;',
      'ALTER TABLE accounts ADD CONSTRAINT positive CHECK (id > 0);',
    ])
      expect(findUnsafeStatements(sql), sql).to.have.length(1);
  });

  it('may add columns, tables with their indexes, and constraints that are validated later', () => {
    for (const sql of [
      'ALTER TABLE accounts ADD COLUMN mail text;',
      'ALTER TABLE accounts ADD COLUMN mail text NOT NULL DEFAULT 0;',
      'CREATE TABLE mails (id bigint PRIMARY KEY, mail text NOT NULL); CREATE INDEX mails_idx ON mails (mail);',
      'ALTER TABLE accounts ADD CONSTRAINT positive CHECK (id > 0) NOT VALID;',
      'CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$;',
      'CREATE INDEX CONCURRENTLY a_idx ON generations (model);',
    ])
      expect(findUnsafeStatements(sql), sql).to.deep.equal([]);
    const contraction = '-- Contraction: not used since 2.1.0.\nALTER TABLE accounts DROP COLUMN mail;';
    expect(findUnsafeStatements(contraction)).to.deep.equal([]);
  });
});
