import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { buildDist } from '../dev/local/builtProcess.ts';
import { getErrorMessage } from '../dev/local/servers/errorDetails.ts';
import { startPostgres } from '../dev/local/servers/postgres.ts';
import { startRedis } from '../dev/local/servers/redis.ts';
import { createScratchFolder } from '../dev/local/scratchFolder.ts';
import { bundlePrograms } from './harness/bundle.ts';
import { type FileSelection, findNeeds, parseArguments, findTestFiles } from './harness/selectFiles.ts';
import { createTemplateDatabase } from './harness/databases.ts';
import { readRunEvents } from './harness/runEvents.ts';
import { sortLongestFirst, updateTimings } from './harness/timings.ts';

/**
 * Runs tests: all but `test/e2e` unless files or folders are named. Starts what they need (Postgres and Redis on free
 * ports, a template database, the bundled programs, for `test/e2e` the build) and hands the files to mocha, longest
 * first. Other options are passed to mocha.
 *
 *     npm test -- test/unit test/contract/apiKeys.test.ts
 *     npm test -- -g 'parallel limit' --jobs 2
 *     npm test -- --update-timings
 */
const MAX_JOBS = 4;

/** Servers of one run. */
interface TestServers {
  description: string;
  variables: Record<string, string>;
  stop(): Promise<void>;
}

process.exit(await main());

async function main(): Promise<number> {
  let selection: FileSelection;
  try {
    selection = parseArguments(process.argv.slice(2));
  } catch (error) {
    console.error(getErrorMessage(error));
    return 2;
  }
  const { files } = selection;
  const needs = findNeeds(files);
  const folder = createScratchFolder('genmeter-test-');
  const variables: Record<string, string> = { TEST_FOLDER: folder, TMPDIR: join(folder, 'tmp') };
  mkdirSync(variables['TMPDIR'] as string);
  let servers: TestServers | undefined;
  try {
    const started = performance.now();
    const bundling = needs.bundle ? bundlePrograms(folder) : Promise.resolve();
    const building = needs.build ? buildDist() : Promise.resolve();
    // Settles all of them even if one fails: a server that did start has to be stopped.
    const starting = needs.servers ? startServers(folder) : Promise.resolve(undefined);
    await Promise.allSettled([bundling, building, starting]);
    servers = await starting;
    await Promise.all([bundling, building]);
    if (servers !== undefined) {
      const { TEST_DATABASE_URL: databaseUrl = '', TEST_REDIS_URL: redisUrl = '' } = servers.variables;
      await createTemplateDatabase(databaseUrl, redisUrl, folder);
    }
    const jobs = selection.jobs ?? Math.min(MAX_JOBS, availableParallelism() + 2);
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    const on = servers === undefined ? '' : ` on ${servers.description}`;
    console.log(`${files.length} files, ${jobs} at a time${on}; prepared in ${seconds} s.\n`);
    const env = { ...process.env, ...variables, ...servers?.variables };
    const status = await runMocha(
      ['--jobs', String(jobs), ...selection.mochaArguments, ...sortLongestFirst(files)],
      env,
    );
    if (selection.updatesTimings) updateTimings(readRunEvents(folder), findTestFiles('test'));
    return status;
  } finally {
    await servers?.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function ignoreLog(): void {}

async function startServers(folder: string): Promise<TestServers> {
  const starting = [
    startPostgres({
      dataDir: join(folder, 'postgres'),
      // The data of a test run need not survive a power failure.
      settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_wal_size: '256MB' },
      log: ignoreLog,
    }),
    startRedis({ dataDir: join(folder, 'redis'), appendOnly: false, log: ignoreLog }),
  ] as const;
  const results = await Promise.allSettled(starting);
  const stop = async (): Promise<void> => {
    const running = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    await Promise.allSettled(running.map((server) => server.stop()));
  };
  try {
    const [postgres, redis] = await Promise.all(starting);
    return {
      description: `${postgres.source} and ${redis.source}`,
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
