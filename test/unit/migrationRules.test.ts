import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { findUnsafeStatements } from '../harness/migrationRules.ts';

const FOLDER = new URL('../../migrations/', import.meta.url);
/** Migrations up to here create the schema of the first release, on an empty database. */
const FIRST_RELEASE = 10;

const wrap = (sql: string): string =>
  `export async function up(knex) {\n await knex.raw(\`${sql}\`);\n}\nexport async function down() {}`;

describe('migrations after the first release', () => {
  it('contain only statements that are safe while the previous release runs', () => {
    const unsafe = readdirSync(FOLDER)
      .filter((name) => /^\d{4}_\w+\.ts$/.test(name) && Number(name.slice(0, 4)) > FIRST_RELEASE)
      .flatMap((name) =>
        findUnsafeStatements(readFileSync(new URL(name, FOLDER), 'utf8')).map((instead) => `${name}: ${instead}`),
      );
    expect(unsafe).to.deep.equal([]);
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
      expect(findUnsafeStatements(wrap(sql)), sql).to.have.length(1);
  });

  it('may add columns, tables with their indexes, and constraints that are validated later', () => {
    for (const sql of [
      'ALTER TABLE accounts ADD COLUMN mail text;',
      'ALTER TABLE accounts ADD COLUMN mail text NOT NULL DEFAULT 0;',
      'CREATE TABLE mails (id bigint PRIMARY KEY, mail text NOT NULL); CREATE INDEX mails_idx ON mails (mail);',
      'ALTER TABLE accounts ADD CONSTRAINT positive CHECK (id > 0) NOT VALID;',
      'CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$;',
    ])
      expect(findUnsafeStatements(wrap(sql)), sql).to.deep.equal([]);
    const contraction = `export const isContraction = true;\n${wrap('ALTER TABLE accounts DROP COLUMN mail;')}`;
    expect(findUnsafeStatements(contraction)).to.deep.equal([]);
  });
});
