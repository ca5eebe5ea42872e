import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import * as databases from '../../dev/local/databases.ts';

const TEMPLATE_DATABASE = 'genmeter_template';

/** Migrates a template database with the release step, as a deployment would. Every test file uses a copy of it. */
export async function createTemplateDatabase(serverUrl: string, folder: string): Promise<void> {
  const url = await databases.createDatabase(serverUrl, TEMPLATE_DATABASE);
  const { status, output } = await runRelease(url, folder);
  if (status !== 0) throw new Error(`The release step failed:\n${output}`);
}

/** Runs the release step against a database, from the bundle in the scratch folder of this run. */
export async function runRelease(
  databaseUrl: string,
  folder = requireTestEnv('TEST_FOLDER'),
): Promise<{ status: number; output: string }> {
  const child = spawn(process.execPath, [join(folder, 'bundle/release.js')], {
    env: { PATH: process.env['PATH'], DATABASE_URL: databaseUrl, REDIS_URL: 'redis://127.0.0.1:1' },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [status] = (await once(child, 'close')) as [number];
  return { status, output };
}

let databaseCount = 0;

/** Creates a database, migrated unless `empty`. @returns its address. */
export async function createDatabase({ empty = false } = {}): Promise<string> {
  const serverUrl = requireTestEnv('TEST_DATABASE_URL');
  databaseCount += 1;
  const name = `test_${process.pid}_${databaseCount}`;
  return databases.createDatabase(serverUrl, name, empty ? '' : `TEMPLATE ${TEMPLATE_DATABASE}`);
}

/** Returns a setting that `test/run.ts` passes to the test files. */
export function requireTestEnv(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run the tests with "npm test".`);
  return value;
}
