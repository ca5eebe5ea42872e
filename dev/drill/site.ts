import { join } from 'node:path';
import { Queue } from 'bullmq';
import type { FakeStripe } from '../../test/fakes/stripe/fakeStripe.ts';
import type { FakeUpstream } from '../../test/fakes/fakeUpstream.ts';
import { getQueuePrefix, type QueueName } from '../../shared/queues/catalog.ts';
import { buildServiceArgs, ROOT } from '../local/environment/build.ts';
import { Closers } from '../local/environment/closers.ts';
import { buildServiceEnv } from '../local/environment/serviceEnv.ts';
import { runProgram, startProgram } from '../local/environment/program.ts';
import { startPostgres } from '../local/servers/postgres.ts';
import { findFreePort } from '../local/servers/ports.ts';
import { waitUntil } from '../local/servers/processes.ts';
import { startRedis } from '../local/servers/redis.ts';

const READY_TIMEOUT_MS = 300_000;
const REDIS_PREFIX = 'drill';

/** Postgres, Redis and the processes of one installation. The fakes outside of it survive its loss. */
export interface Site {
  databaseUrl: string;
  baseUrl: string;
  /** Runs a main file of the build, such as the release step, against the stores of this site. */
  runProgram(script: string): Promise<void>;
  /** Starts an API and a worker. Resolves when the service is ready. */
  startService(): Promise<void>;
  /** Enqueues scheduled jobs ahead of their time. */
  enqueue(queue: QueueName, ...jobs: string[]): Promise<void>;
  /** Kills the processes and stops the stores. Its data is not used any more. */
  destroy(): Promise<void>;
}

/** @param folder for the data of the stores, the media and the logs. */
export async function openSite(folder: string, stripe: FakeStripe, upstream: FakeUpstream): Promise<Site> {
  const closers = new Closers();
  const postgres = await startPostgres({ dataDir: join(folder, 'postgres') });
  closers.add(() => postgres.stop());
  const redis = await startRedis({ dataDir: join(folder, 'redis'), appendOnly: false });
  closers.add(() => redis.stop());
  const port = String(await findFreePort());
  const baseUrl = `http://127.0.0.1:${port}`;
  const env: Record<string, string> = {
    ...buildServiceEnv({
      databaseUrl: postgres.url,
      redisUrl: redis.url,
      redisPrefix: REDIS_PREFIX,
      // Media storage is outside of the database's machine, and survives.
      mediaDir: join(folder, '..', 'media'),
    }),
    ...stripe.environment,
    PATH: process.env['PATH'] ?? '',
    NODE_ENV: 'test',
    HOST: '127.0.0.1',
    PORT: port,
    BASE_URL: baseUrl,
    FAL_BASE_URL: upstream.url,
    FAL_KEY: 'drill',
    DATABASE_TIMEOUT_MS: '6000',
  };

  const isReady = () =>
    fetch(`${baseUrl}/api/ready/`).then(
      ({ status }) => status === 200,
      () => false,
    );

  return {
    databaseUrl: postgres.url,
    baseUrl,
    runProgram: async (script) => {
      const { status, out, err } = await runProgram({ args: [script], env, cwd: ROOT });
      if (status !== 0)
        throw new Error(`${script} exited with ${status}:
${err}${out}`);
    },
    startService: async () => {
      for (const name of ['api', 'worker'] as const) {
        const output = { file: join(folder, `${name}.log`) };
        const program = startProgram({ name, args: buildServiceArgs(ROOT, name), env, cwd: ROOT, output });
        closers.add(() => program.kill());
      }
      stripe.webhookUrl = `${baseUrl}/api/billing/webhooks/processor/`;
      if (!(await waitUntil(isReady, READY_TIMEOUT_MS))) throw new Error(`${baseUrl} was not ready: see ${folder}.`);
    },
    enqueue: async (name, ...jobs) => {
      const queue = new Queue(name, { connection: { url: redis.url }, prefix: getQueuePrefix(name, REDIS_PREFIX) });
      await queue.addBulk(jobs.map((job) => ({ name: job, data: {} })));
      await queue.close();
    },
    destroy: () => {
      stripe.webhookUrl = undefined;
      return closers.close();
    },
  };
}
