import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { runProgram } from '../../dev/local/environment/program.ts';
import { requireTestEnv } from '../harness/databases.ts';

/** Starts a Redis as `npm start` does, has BullMQ process a job on it, and stops it. */
const SCRIPT = `
  const { Queue, QueueEvents, Worker } = await import('bullmq');
  const { startRedis } = await import('./dev/local/servers/redis.ts');
  const redis = await startRedis({ dataDir: process.argv[1] });
  const connection = { url: redis.url, maxRetriesPerRequest: null };
  const parts = [
    new Queue('fallback', { connection }),
    new QueueEvents('fallback', { connection }),
    new Worker('fallback', async (job) => job.data.number + 1, { connection }),
  ];
  await parts[1].waitUntilReady();
  const job = await parts[0].add('add', { number: 41 }, { delay: 50 });
  const result = await job.waitUntilFinished(parts[1], 30_000);
  await Promise.all(parts.map((part) => part.close()));
  await redis.stop();
  process.stdout.write(JSON.stringify({ source: redis.source, result }), () => process.exit(0));`;

describe('a machine without Redis', () => {
  it('runs BullMQ on the in-memory fallback from the npm package, on every supported Node', async function () {
    this.timeout(120_000);
    const folder = join(requireTestEnv('TEST_FOLDER'), 'redis-fallback');
    const [empty, dataDir] = [join(folder, 'empty'), join(folder, 'data')];
    for (const made of [empty, dataDir]) mkdirSync(made, { recursive: true });
    // This PATH has neither a Redis nor apt-get, and the cache is empty.
    const env = { PATH: empty, HOME: empty, XDG_CACHE_HOME: empty };
    const args = ['--import', 'tsx', '--input-type=module', '-e', SCRIPT, dataDir];
    const { status, out, err } = await runProgram({ args, env });
    expect(status, err).to.equal(0);
    expect(JSON.parse(out), err).to.deep.equal({ source: 'js-redis-server', result: 42 });
  });
});
