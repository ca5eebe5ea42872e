import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { connectTo } from '../local/environment/databases.ts';
import { runCommand } from '../local/servers/runCommand.ts';

const COMMAND_TIMEOUT_MS = 120_000;

/** A backup on disk, and how to restore it into an empty database. */
export interface Backup {
  /** The tool that made it. */
  tool: string;
  bytes: number;
  /** @param migrate creates the schema, for a backup that contains rows only. */
  restore(databaseUrl: string, migrate: () => Promise<void>): Promise<void>;
}

/**
 * Backs a database up: by `pg_dump` if the one on the PATH is as new as the server, otherwise by `COPY` of each table
 * in one snapshot. The embedded Postgres comes without `pg_dump`.
 */
export async function backUp(databaseUrl: string, folder: string): Promise<Backup> {
  mkdirSync(folder);
  // Postgres may run as another account, and writes the files of COPY itself.
  chmodSync(folder, 0o777);
  return (await hasMatchingDump(databaseUrl)) ? dump(databaseUrl, folder) : copyTables(databaseUrl, folder);
}

async function hasMatchingDump(databaseUrl: string): Promise<boolean> {
  const [dumper, restorer] = await Promise.all(
    ['pg_dump', 'pg_restore'].map((name) => runCommand(name, ['--version'])),
  );
  if (dumper?.ok !== true || restorer?.ok !== true) return false;
  const [row] = await query<{ major: number }>(
    databaseUrl,
    "SELECT current_setting('server_version_num')::int / 10000 AS major",
  );
  return Number(/ (\d+)/.exec(dumper.stdout)?.[1]) >= (row?.major ?? Infinity);
}

async function dump(databaseUrl: string, folder: string): Promise<Backup> {
  const file = join(folder, 'genmeter.dump');
  await run('pg_dump', ['--format=custom', `--file=${file}`, databaseUrl]);
  return {
    tool: 'pg_dump',
    bytes: statSync(file).size,
    restore: (target) => run('pg_restore', ['--no-owner', '--exit-on-error', `--dbname=${target}`, file]),
  };
}

async function run(command: string, args: string[]): Promise<void> {
  const { ok, problem } = await runCommand(command, args, { timeoutMs: COMMAND_TIMEOUT_MS });
  if (!ok) throw new Error(`${command} failed: ${problem}`);
}

/** Columns without generated ones, which cannot be copied, and sequences with their last values. */
const TABLES_SQL = `
  SELECT c.relname AS name, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS columns
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
   WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
     AND a.attgenerated = ''
   GROUP BY c.relname ORDER BY c.relname`;
const SEQUENCES_SQL = `SELECT sequencename AS name, last_value FROM pg_sequences
  WHERE schemaname = 'public' AND last_value IS NOT NULL`;

async function copyTables(databaseUrl: string, folder: string): Promise<Backup> {
  const client = await connectTo(databaseUrl);
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const { rows: tables } = await client.query<{ name: string; columns: string }>(TABLES_SQL);
    const { rows: sequences } = await client.query<{ name: string; last_value: string }>(SEQUENCES_SQL);
    for (const { name, columns } of tables)
      await client.query(`COPY "${name}" (${columns}) TO '${join(folder, name)}' (FORMAT binary)`);
    await client.query('COMMIT');
    return {
      tool: 'COPY of each table',
      bytes: readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0),
      restore: async (target, migrate) => {
        await migrate();
        const copy = tables.map(
          ({ name, columns }) => `COPY "${name}" (${columns}) FROM '${join(folder, name)}' (FORMAT binary)`,
        );
        await query(
          target,
          'BEGIN',
          // No triggers and no foreign keys: the rows are complete, and each effect of a trigger is among them.
          'SET LOCAL session_replication_role = replica',
          `TRUNCATE ${tables.map(({ name }) => `"${name}"`).join(', ')}`,
          ...copy,
          ...sequences.map(({ name, last_value: value }) => `SELECT setval('"${name}"', ${value})`),
          'COMMIT',
        );
      },
    };
  } finally {
    await client.end();
  }
}

/** Runs statements on a connection of their own. @returns the rows of the last one. */
export async function query<Row extends object>(databaseUrl: string, ...statements: string[]): Promise<Row[]> {
  const client = await connectTo(databaseUrl);
  try {
    let rows: Row[] = [];
    for (const statement of statements) ({ rows } = await client.query<Row>(statement));
    return rows;
  } finally {
    await client.end();
  }
}
