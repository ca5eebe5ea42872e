import { expect } from 'chai';
import type { Customer } from '../harness/client.ts';
import { setting } from '../harness/databases.ts';
import { Proxy } from '../../dev/servers/proxy.ts';
import { eventually, type Service, startService } from '../harness/service.ts';

describe('while a server is out of reach', () => {
  let service: Service;
  let database: Proxy;
  let redis: Proxy;
  let customer: Customer;
  before(async () => {
    redis = await new Proxy(setting('TEST_REDIS_URL')).start();
    service = await startService({ apis: 0, workers: 0, redisUrl: redis.url, env: { RATE_LIMITS: 'on' } });
    database = await new Proxy(service.env['DATABASE_URL'] as string).start();
    await service.startApi({ DATABASE_URL: database.url });
    await service.startWorker({ DATABASE_URL: database.url });
    customer = await service.customer('studio');
  });
  after(async () => {
    await service.stop();
    await Promise.all([database.stop(), redis.stop()]);
  });

  const image = () => customer.create({ model: 'imgmodel-2', params: { resolution: '1K' } });

  for (const how of ['refuse', 'freeze'] as const) {
    it(`Postgres (${how}): every request gets a 503 in the envelope within 5 s, and works again afterwards`, async () => {
      database[how]();
      const startedAt = Date.now();
      const answers = await Promise.all([
        customer.call('GET', '/api/ledger/'),
        customer.browse('GET', '/authentication/me/'),
        customer.call('GET', '/api/generations/00000000-0000-7000-8000-000000000000/'),
        image(),
      ]);
      expect(Date.now() - startedAt).to.be.below(5_000);
      for (const answer of answers) {
        expect(answer.status).to.equal(503);
        expect(answer.body.error).to.equal('internal_error');
        expect(answer.headers.get('retry-after')).to.match(/^\d+$/);
      }
      expect((await service.request('GET', '/api/health/')).status).to.equal(200);
      database.open();
      await eventually('recovered', async () => (await image()).status === 201);
    });
  }

  it('Redis (refuse, freeze): reads and creates are answered within 5 s, and the jobs run afterwards', async () => {
    service.upstream.outcome = 'succeed';
    for (const how of ['refuse', 'freeze'] as const) {
      redis[how]();
      const created = await within(5_000, image());
      expect(created.status, how).to.equal(201);
      expect((await within(5_000, customer.read(created.body.uuid))).status).to.equal(200);
      expect((await within(5_000, service.request('GET', '/api/models/'))).status).to.equal(200);
      redis.open();
      expect((await customer.settled(created.body.uuid, 40_000)).status).to.equal('succeeded');
    }
  });

  it('Redis (refuse): the processes still end on SIGTERM, soon and with status 0', async () => {
    redis.refuse();
    const startedAt = Date.now();
    expect(await Promise.all([service.apis[0]?.stop(), service.workers[0]?.stop()])).to.deep.equal([0, 0]);
    expect(Date.now() - startedAt).to.be.below(10_000);
    redis.open();
  });
}).timeout(120_000);

async function within<Result>(milliseconds: number, request: Promise<Result>): Promise<Result> {
  const startedAt = Date.now();
  const result = await request;
  expect(Date.now() - startedAt).to.be.below(milliseconds);
  return result;
}
