import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { startPostgres } from '../dev/servers/postgres.ts';
import { startRedis } from '../dev/servers/redis.ts';
import { makeScratchFolder } from '../dev/servers/scratch.ts';
import { bundleProcesses } from './harness/bundle.ts';
import { makeTemplateDatabase } from './harness/databases.ts';

/**
 * Runs the tests: starts a Postgres and a Redis of its own on free ports, makes the database that each test file gets
 * a copy of, and hands over to mocha with whatever arguments there are: all files unless some are named.
 *
 *     npm test -- test/contract/keys.test.ts
 *     npm test -- -g 'parallel limit'
 */
const args = process.argv.slice(2);
const files = args.some((arg) => arg.endsWith('.test.ts')) ? [] : ['test/**/*.test.ts'];
const folder = makeScratchFolder('genmeter-test-');
const log = () => {};
const [postgres, redis] = await Promise.all([
  // What a test writes need not survive a power cut.
  startPostgres({
    dataDir: join(folder, 'postgres'),
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_wal_size: '256MB' },
    log,
  }),
  startRedis({ dataDir: join(folder, 'redis'), appendOnly: false, log }),
]);
console.log(`Testing on ${postgres.how} and ${redis.how}.`);

let status: number | null = 1;
try {
  const temporary = join(folder, 'tmp');
  mkdirSync(temporary);
  const env = {
    ...process.env,
    TMPDIR: temporary,
    TEST_DATABASE_URL: postgres.url,
    TEST_REDIS_URL: redis.url,
    TEST_FOLDER: folder,
  };
  await Promise.all([makeTemplateDatabase(postgres.url), bundleProcesses()]);
  const mochaBin = join(createRequire(import.meta.url).resolve('mocha/package.json'), '../bin/mocha.js');
  const mocha = spawn(process.execPath, [mochaBin, ...args, ...files], { stdio: 'inherit', env });
  [status] = (await once(mocha, 'exit')) as [number | null];
} finally {
  await Promise.allSettled([postgres.stop(), redis.stop()]);
  await rm(folder, { recursive: true, force: true });
}
process.exit(status ?? 1);
