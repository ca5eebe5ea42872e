import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Knex } from 'knex';
import { now } from '../clock.ts';

/** A function of the database, whose text is a `.sql` file beside the module that calls it. */
export interface SqlFunction {
  /** Name in the file. */
  name: string;
  /** Name in the database, which ends with a digest of the text: releases with different texts run at the same time. */
  installedName: string;
  text: string;
}

/**
 * Reads the `CREATE FUNCTION` statement of a file.
 * @param uses functions that it calls.
 */
export function readSqlFunction(file: URL, uses: readonly SqlFunction[] = []): SqlFunction {
  const text = uses.reduce(
    (written, { name, installedName }) => written.replaceAll(`${name}(`, `${installedName}(`),
    readFileSync(file, 'utf8'),
  );
  const name = /^CREATE FUNCTION (\w+)\(/m.exec(text)?.[1];
  if (name === undefined) throw new Error(`${file.pathname} contains no CREATE FUNCTION.`);
  const installedName = `${name}_${hash('sha256', text).slice(0, 8)}`;
  return { name, installedName, text: text.replaceAll(`${name}(`, `${installedName}(`) };
}

/** Number of texts of a function that stay installed, for releases that still run and for a return to the last one. */
const KEPT_TEXTS = 3;

/** The installed texts of a function, newest first. Each has the time of its installation as comment. */
const LIST_INSTALLED = `
  SELECT p.oid::regprocedure AS signature, p.proname AS name FROM pg_proc p
   WHERE p.pronamespace = current_schema::regnamespace AND p.proname ~ ('^' || ? || '_[0-9a-f]{8}$')
   ORDER BY obj_description(p.oid, 'pg_proc') DESC, p.oid DESC`;

/**
 * Installs the functions that the database does not have, and drops the oldest texts of each. A text that is installed
 * again counts as new.
 * @param functions in the order of their use: one that is called comes first.
 */
export async function installSqlFunctions(
  transaction: Knex.Transaction,
  functions: readonly SqlFunction[],
): Promise<void> {
  for (const { name, installedName, text } of functions) {
    const list = async () =>
      (await transaction.raw<{ rows: { signature: string; name: string }[] }>(LIST_INSTALLED, [name])).rows;
    const isInstalled = (await list()).some((installed) => installed.name === installedName);
    if (!isInstalled) await transaction.raw(text);
    await transaction.raw(`COMMENT ON FUNCTION ${installedName} IS '${now().toISOString()}'`);
    for (const { signature } of (await list()).slice(KEPT_TEXTS)) await transaction.raw(`DROP FUNCTION ${signature}`);
  }
}
