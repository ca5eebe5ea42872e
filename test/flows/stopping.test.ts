import { expect } from 'chai';
import { Proxy } from '../../dev/servers/proxy.ts';
import { IMAGE } from '../harness/client.ts';
import { setting } from '../harness/databases.ts';
import type { ServiceProcess } from '../harness/processes.ts';
import { type Service, startService } from '../harness/service.ts';

describe('processes that are stopped while a server goes out of reach', () => {
  let service: Service;
  let database: Proxy;
  let redis: Proxy;
  before(async () => {
    redis = await new Proxy(setting('TEST_REDIS_URL')).start();
    service = await startService({
      apis: 0,
      workers: 0,
      redisUrl: redis.url,
      env: { DATABASE_TIMEOUT_MS: '1500' },
    });
    service.upstream.outcome = 'succeed';
    database = await new Proxy(service.env['DATABASE_URL'] as string).start();
  });
  after(async () => {
    await service.stop();
    await Promise.all([database.stop(), redis.stop()]);
  });

  for (const [name, how] of [
    ['Redis', 'refuse'],
    ['Redis', 'freeze'],
    ['Postgres', 'refuse'],
    ['Postgres', 'freeze'],
  ] as const) {
    it(`end on SIGTERM with work to do, soon and with status 0, where ${name} is made to ${how}`, async () => {
      const env = { DATABASE_URL: database.url };
      const parts = await Promise.all([service.startApi(env), service.startWorker(env), service.startWorker(env)]);
      const customer = (await service.customer('studio')).via(parts[0].baseUrl);
      const creates = await Promise.all(Array.from({ length: 6 }, () => customer.create(IMAGE)));
      expect(creates.map(({ status }) => status)).to.include(201);
      // Nobody has noticed yet, and jobs are under way: what they have done can be told to nobody.
      const server = name === 'Redis' ? redis : database;
      server[how]();
      try {
        // What Postgres is to be told is insisted on for a while; what Redis is to be told is not.
        await Promise.all(parts.map((part) => endWell(part, name === 'Redis' ? 10_000 : 20_000)));
      } finally {
        server.open();
        service.apis.length = 0;
        service.workers.length = 0;
      }
    });
  }
}).timeout(120_000);

async function endWell(part: ServiceProcess, withinMs: number): Promise<void> {
  const startedAt = Date.now();
  const status = await part.stop();
  const ms = Date.now() - startedAt;
  expect([status, ms < withinMs], `${ms} ms\n${part.logs()}`).to.deep.equal([0, true]);
}
