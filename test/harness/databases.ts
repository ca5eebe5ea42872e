import * as databases from '../../dev/local/environment/databases.ts';
import { partitionByAccount } from '../../dev/partitioning/partitionByAccount.ts';
import { runBundled } from './builtPrograms.ts';

export const TEMPLATE_DATABASE = 'genmeter_template';

/**
 * Migrates a template database with the release step, as a deployment would. Every test file uses a copy of it. Its
 * copies share a signing key for access tokens: generating one takes longer than starting a service.
 * @param redisUrl address of a Redis server, which programs need to start.
 * @param partitions number of partitions of the growing tables; undefined leaves them whole.
 */
export async function createTemplateDatabase(
  serverUrl: string,
  redisUrl: string,
  folder: string,
  partitions?: number,
): Promise<void> {
  const url = await databases.createDatabase(serverUrl, TEMPLATE_DATABASE);
  const env = { DATABASE_URL: url, REDIS_URL: redisUrl };
  for (const program of ['release', 'rotateKeys'] as const) {
    const { status, out, err } = await runBundled(program, [], { env, folder });
    if (status !== 0) throw new Error(`${program} failed:\n${out}${err}`);
  }
  if (partitions === undefined) return;
  const client = await databases.connectTo(url);
  await partitionByAccount(client, partitions);
  await client.end();
}

/** Runs the release step against a database. */
export async function runRelease(
  databaseUrl: string,
  variables: Record<string, string> = {},
): Promise<{ status: number | null; output: string }> {
  const env = { DATABASE_URL: databaseUrl, REDIS_URL: 'redis://127.0.0.1:1', ...variables };
  const { status, out, err } = await runBundled('release', [], { env });
  return { status, output: out + err };
}

let databaseCount = 0;

/** Creates a database, migrated unless `empty`. @returns its address. */
export async function createDatabase({ empty = false } = {}): Promise<string> {
  const serverUrl = requireTestEnv('TEST_DATABASE_URL');
  databaseCount += 1;
  const name = `test_${process.pid}_${databaseCount}`;
  return databases.createDatabase(serverUrl, name, empty ? '' : `TEMPLATE ${TEMPLATE_DATABASE} STRATEGY FILE_COPY`);
}

/** Returns a setting that `test/run.ts` passes to the test files. */
export function requireTestEnv(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run the tests with "npm test".`);
  return value;
}
