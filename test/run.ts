import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { build } from '../dev/servers/builtService.ts';
import { messageOf } from '../dev/servers/failures.ts';
import { startPostgres } from '../dev/servers/postgres.ts';
import { startRedis } from '../dev/servers/redis.ts';
import { makeScratchFolder } from '../dev/servers/scratch.ts';
import { bundlePrograms } from './harness/bundle.ts';
import { type Choice, findNeeds, parseArguments, testsIn } from './harness/chooseFiles.ts';
import { makeTemplateDatabase } from './harness/databases.ts';
import { readEvents } from './harness/runEvents.ts';
import { longestFirst, updateTimings } from './harness/timings.ts';

/**
 * Runs tests: all but `test/e2e` unless files or folders are named. Starts what they need (Postgres and Redis on free
 * ports, a template database, the bundled programs, for `test/e2e` the build) and hands the files to mocha, longest
 * first. Options that are not known here are mocha's.
 *
 *     npm test -- test/unit test/contract/keys.test.ts
 *     npm test -- -g 'parallel limit' --jobs 2
 *     npm test -- --update-timings
 */
const MOST_JOBS = 4;

/** Servers of one run. */
interface Servers {
  how: string;
  variables: Record<string, string>;
  stop(): Promise<void>;
}

process.exit(await main());

async function main(): Promise<number> {
  let choice: Choice;
  try {
    choice = parseArguments(process.argv.slice(2));
  } catch (error) {
    console.error(messageOf(error));
    return 2;
  }
  const { files } = choice;
  const needs = findNeeds(files);
  const folder = makeScratchFolder('genmeter-test-');
  const variables: Record<string, string> = { TEST_FOLDER: folder, TMPDIR: join(folder, 'tmp') };
  mkdirSync(variables['TMPDIR'] as string);
  let servers: Servers | undefined;
  try {
    const started = performance.now();
    const bundling = needs.bundle ? bundlePrograms(folder) : Promise.resolve();
    const building = needs.build ? build() : Promise.resolve();
    // All of them, also where one fails: a server that did start has to be stopped.
    const starting = needs.servers ? startServers(folder) : Promise.resolve(undefined);
    await Promise.allSettled([bundling, building, starting]);
    servers = await starting;
    await Promise.all([bundling, building]);
    if (servers !== undefined) {
      await makeTemplateDatabase(servers.variables['TEST_DATABASE_URL'] as string, folder);
    }
    const jobs = choice.jobs ?? Math.min(MOST_JOBS, availableParallelism() + 2);
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    const on = servers === undefined ? '' : ` on ${servers.how}`;
    console.log(`${files.length} files, ${jobs} at a time${on}; prepared in ${seconds} s.\n`);
    const env = { ...process.env, ...variables, ...servers?.variables };
    const status = await runMocha(['--jobs', String(jobs), ...choice.rest, ...longestFirst(files)], env);
    if (choice.updatesTimings) updateTimings(readEvents(folder), testsIn('test'));
    return status;
  } finally {
    await servers?.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function ignore(): void {}

async function startServers(folder: string): Promise<Servers> {
  const starting = [
    startPostgres({
      dataDir: join(folder, 'postgres'),
      // The data of a test run need not survive a power failure.
      settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_wal_size: '256MB' },
      log: ignore,
    }),
    startRedis({ dataDir: join(folder, 'redis'), appendOnly: false, log: ignore }),
  ] as const;
  const results = await Promise.allSettled(starting);
  const stop = async (): Promise<void> => {
    const running = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    await Promise.allSettled(running.map((server) => server.stop()));
  };
  try {
    const [postgres, redis] = await Promise.all(starting);
    return {
      how: `${postgres.how} and ${redis.how}`,
      variables: { TEST_DATABASE_URL: postgres.url, TEST_REDIS_URL: redis.url },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function runMocha(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const bin = join(createRequire(import.meta.url).resolve('mocha/package.json'), '../bin/mocha.js');
  const mocha = spawn(process.execPath, [bin, ...args], { stdio: 'inherit', env });
  const [status] = (await once(mocha, 'exit')) as [number | null];
  return status ?? 1;
}
