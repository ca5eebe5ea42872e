import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { buildDist } from '../dev/local/environment/build.ts';
import { startProgram } from '../dev/local/environment/program.ts';
import { createScratchFolder } from '../dev/local/environment/scratchFolder.ts';
import { type Servers, startServers } from '../dev/local/environment/servers.ts';
import { getErrorMessage } from '../dev/local/servers/errorDetails.ts';
import { buildPrograms } from './harness/builtPrograms.ts';
import { type FileSelection, findNeeds, parseArguments, findTestFiles } from './harness/selectFiles.ts';
import { createTemplateDatabase } from './harness/databases.ts';
import { readRunEvents } from './harness/runEvents.ts';
import { bundleTests } from './harness/moduleBundle.ts';
import { sortForParallelRun, updateTimings } from './harness/timings.ts';

/**
 * Runs tests: those of `npm test` unless files or folders are named. Starts what they need (Postgres and Redis on free
 * ports, a template database, the bundled programs, for `test/e2e` and `test/release` the build) and hands the
 * files to mocha in an order that balances the processes. Other options are passed to mocha.
 *
 *     npm test -- test/unit test/contract/apiKeys.test.ts
 *     npm test -- -g 'parallel limit' --jobs 2
 *     npm test -- --partitions 4 test/payments/creditPeriods.test.ts
 *     npm test -- --update-timings
 */
/** Tests wait for a third of their time. More files at a time would exceed time limits on a slow machine. */
const JOBS_PER_PROCESSOR = 3;
/** Files that need the build run whole services and browsers. */
const MAX_BUILT_JOBS = 4;
/** Fewer collections of garbage that is young: they took a tenth of the processor time of mocha's processes. */
const MOCHA_NODE_OPTIONS = '--max-semi-space-size=64';

/**
 * The data of a test run need not survive a power failure. Databases of a single file are too young for autovacuum,
 * which would visit all of them again and again.
 */
const POSTGRES_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_wal_size: '256MB',
  autovacuum: 'off',
};

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
  let servers: Servers | undefined;
  try {
    const started = performance.now();
    const bundling = Promise.all([bundleTests(folder, files), needs.programs ? buildPrograms(folder) : undefined]);
    const building = needs.build ? buildDist() : Promise.resolve();
    // Settles all of them even if one fails: a server that did start has to be stopped.
    const starting = needs.servers
      ? startServers({ folder, postgresSettings: getPostgresSettings(selection), appendOnly: false })
      : Promise.resolve(undefined);
    await Promise.allSettled([bundling, building, starting]);
    servers = await starting;
    await Promise.all([bundling, building]);
    if (servers !== undefined) {
      const { postgres, redis } = servers;
      Object.assign(variables, { TEST_DATABASE_URL: postgres.url, TEST_REDIS_URL: redis.url });
      await createTemplateDatabase(postgres.url, redis.url, folder, selection.partitions);
    }
    const most = needs.build ? MAX_BUILT_JOBS : Infinity;
    const jobs = selection.jobs ?? Math.min(most, JOBS_PER_PROCESSOR * availableParallelism());
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    const on = servers === undefined ? '' : ` on ${servers.postgres.source} and ${servers.redis.source}`;
    console.log(`${files.length} files, ${jobs} at a time${on}; prepared in ${seconds} s.\n`);
    const env = {
      ...process.env,
      ...variables,
      NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} ${MOCHA_NODE_OPTIONS}`,
    };
    const status = await runMocha(
      ['--jobs', String(jobs), ...selection.mochaArguments, ...sortForParallelRun(files)],
      env,
    );
    const events = readRunEvents(folder);
    if (selection.updatesTimings) updateTimings(events, findTestFiles('test'));
    // Mocha succeeds without a test, so a misspelt title would look like a success.
    if (events.some((event) => event.kind === 'end' && event.tests === 0)) {
      console.error('No test was run: no title in the selected files matches the pattern of -g or -f.');
      return status || 1;
    }
    return status;
  } finally {
    await servers?.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Copies of a template database do not inherit the settings that partitioning gives to a database. */
function getPostgresSettings({ partitions }: FileSelection): Record<string, string> {
  if (partitions === undefined) return POSTGRES_SETTINGS;
  return { ...POSTGRES_SETTINGS, plan_cache_mode: 'force_generic_plan' };
}

async function runMocha(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const bin = join(createRequire(import.meta.url).resolve('mocha/package.json'), '../bin/mocha.js');
  const mocha = startProgram({ name: 'mocha', args: [bin, ...args], env, output: 'inherit' });
  return (await mocha.ended).status ?? 1;
}
