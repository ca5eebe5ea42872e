import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import * as databases from '../../dev/local/databases.ts';

const TEMPLATE_DATABASE = 'genmeter_template';

/**
 * Migrates a template database with the release step, as a deployment would. Every test file uses a copy of it. Its
 * copies share a signing key for access tokens: generating one takes longer than starting a service.
 * @param redisUrl address of a Redis server, which programs need to start.
 */
export async function createTemplateDatabase(serverUrl: string, redisUrl: string, folder: string): Promise<void> {
  const url = await databases.createDatabase(serverUrl, TEMPLATE_DATABASE);
  for (const program of ['release', 'rotateKeys'] as const) {
    const { status, output } = await runProgram(program, { DATABASE_URL: url, REDIS_URL: redisUrl }, folder);
    if (status !== 0) throw new Error(`${program} failed:\n${output}`);
  }
}

/** Runs the release step against a database. */
export function runRelease(databaseUrl: string): Promise<{ status: number; output: string }> {
  return runProgram('release', { DATABASE_URL: databaseUrl, REDIS_URL: 'redis://127.0.0.1:1' });
}

/** Runs a program to its end, from the bundle in the scratch folder of this run. */
async function runProgram(
  name: 'release' | 'rotateKeys',
  env: Record<string, string>,
  folder = requireTestEnv('TEST_FOLDER'),
): Promise<{ status: number; output: string }> {
  const child = spawn(process.execPath, [join(folder, `bundle/${name}.js`)], {
    env: { PATH: process.env['PATH'], ...env },
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
