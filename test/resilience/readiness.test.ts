import { expect } from 'chai';
import { Redis } from 'ioredis';
import { request } from '../harness/apiClient.ts';
import { requireTestEnv } from '../harness/databases.ts';
import { FaultProxy } from '../fakes/faultProxy.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';

describe('readiness', () => {
  let service: TestService;
  let database: FaultProxy;
  let redis: FaultProxy;
  let direct: Redis;
  let heartbeat: string;
  before(async () => {
    direct = new Redis(requireTestEnv('TEST_REDIS_URL'));
    redis = await new FaultProxy(requireTestEnv('TEST_REDIS_URL')).start();
    service = await startTestService({
      apis: 0,
      workers: 0,
      redisUrl: redis.url,
      env: { RATE_LIMITS: 'on', DATABASE_TIMEOUT_MS: '1500' },
    });
    database = await new FaultProxy(service.env['DATABASE_URL'] as string).start();
    heartbeat = `{${service.env['REDIS_PREFIX']}:maintenance}:heartbeat`;
    await direct.set(heartbeat, '1');
    await service.startApi({ DATABASE_URL: database.url });
  });
  after(async () => {
    await service.stop();
    direct.disconnect();
    await Promise.all([database.stop(), redis.stop()]);
  });

  const ask = (path = '/api/ready/') => request(service.baseUrl, 'GET', path);

  /** Results are cached for a second: waits for the expected one. */
  const becomes = async (status: number, detail?: string) => {
    let response = await ask();
    const what = () => `${status} ${detail ?? ''} instead of ${response.status} ${JSON.stringify(response.body)}`;
    await eventually('the answer changes', async () => {
      response = await ask();
      return response.status === status && (detail === undefined || response.body.detail === detail);
    }).catch(() => expect.fail(what()));
    if (status === 503) {
      expect(response.body).to.have.all.keys('error', 'detail');
      expect(response.body.error).to.equal('internal_error');
      expect(response.headers.get('retry-after')).to.equal('5');
    }
  };

  it('is 200 while database, Redis, migrations and a worker are available', async () => {
    await becomes(200);
    const { body, headers } = await ask();
    expect(body).to.deep.equal({ status: 'ready' });
    expect(headers.get('cache-control')).to.equal('no-store');
  });

  it('is 503 if no worker took a job within 45 seconds, even if the models were probed', async () => {
    await setAllModelsOnline(service);
    await direct.del(heartbeat);
    await becomes(503, 'Not ready: no worker was seen within 45 seconds.');
    await direct.set(heartbeat, '1');
    await becomes(200);
  });

  it('is 503 if the database is not migrated to this version', async () => {
    await service.sql(`UPDATE migrations SET name = 'later' WHERE name = '0001_baseline'`);
    await becomes(503, 'Not ready: the database is not migrated to this version.');
    await service.sql(`UPDATE migrations SET name = '0001_baseline' WHERE name = 'later'`);
    await becomes(200);
  });

  it('is 200 on a database with later migrations', async () => {
    await service.sql(`INSERT INTO migrations VALUES ('9999_later', now())`);
    await becomes(200);
    await service.sql(`DELETE FROM migrations WHERE name = '9999_later'`);
  });

  it('is 503 while Redis is unavailable, and reveals no details', async () => {
    redis.refuse();
    await becomes(503, 'Not ready: Redis is unavailable.');
    redis.open();
    await becomes(200);
  });

  it('is 503 while the database is unavailable, and reveals no details', async () => {
    database.refuse();
    await becomes(503, 'Not ready: the database is unavailable.');
    database.open();
    await becomes(200);
  });

  it('the serving probe is 200 while Redis and the database are unavailable', async () => {
    database.refuse();
    redis.refuse();
    await becomes(503, 'Not ready: the database is unavailable; Redis is unavailable.');
    const { status, body, headers } = await ask('/api/serving/');
    expect([status, body]).to.deep.equal([200, { status: 'serving' }]);
    expect(headers.get('cache-control')).to.equal('no-store');
    database.open();
    redis.open();
    await becomes(200);
  });

  const readLog = () => {
    const lines = service.apis[0]?.logs().split('\n') ?? [];
    return lines.filter((line) => /"msg":"(not ready|ready again)"/.test(line)).map((line) => JSON.parse(line));
  };

  it('logs the reasons once when they change, and once when it is ready again', async () => {
    await becomes(200);
    // Lines logged before this request precede its own line. Requests of probes are not logged.
    await service.apis[0]?.waitForLog((await ask('/api/models/')).headers.get('x-request-id') as string);
    const before = readLog().length;
    redis.refuse();
    await becomes(503, 'Not ready: Redis is unavailable.');
    const askedAt = Date.now();
    // Two seconds include at least one more check.
    await eventually('it was checked again', async () => (await ask()).status === 503 && Date.now() - askedAt > 2_000);
    redis.open();
    await becomes(200);
    await eventually('both are logged', async () => readLog().length >= before + 2);
    expect(
      readLog()
        .slice(before)
        .map(({ msg, reasons }) => [msg, reasons]),
    ).to.deep.equal([
      ['not ready', ['Redis is unavailable']],
      ['ready again', undefined],
    ]);
  });

  it('queries the database once for simultaneous requests, and is never rate limited', async () => {
    await becomes(200);
    const responses = await Promise.all(Array.from({ length: 200 }, () => ask()));
    expect(responses.every(({ status }) => status === 200)).to.equal(true);
  });
});
