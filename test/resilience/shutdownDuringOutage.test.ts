import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { FaultProxy } from '../fakes/faultProxy.ts';
import { IMAGE } from '../harness/apiClient.ts';
import { requireTestEnv } from '../harness/databases.ts';
import type { Program } from '../../dev/local/environment/program.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';

describe('processes that are stopped while a server becomes unavailable', () => {
  let service: TestService;
  let database: FaultProxy;
  let redis: FaultProxy;
  before(async () => {
    redis = await new FaultProxy(requireTestEnv('TEST_REDIS_URL')).start();
    service = await startTestService({
      apis: 0,
      workers: 0,
      redisUrl: redis.url,
      env: { DATABASE_TIMEOUT_MS: '1500' },
    });
    service.upstream.outcome = 'succeed';
    database = await new FaultProxy(service.env['DATABASE_URL'] as string).start();
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
    it(`exit soon on SIGTERM with pending work and status 0 when ${name} starts to ${how}`, async () => {
      const env = { DATABASE_URL: database.url };
      const parts = await Promise.all([service.startApi(env), service.startWorker(env), service.startWorker(env)]);
      const customer = (await service.createCustomer('studio')).on(parts[0].baseUrl);
      const creates = await Promise.all(Array.from({ length: 6 }, () => customer.createGeneration(IMAGE)));
      expect(creates.map(({ status }) => status)).to.include(201);
      // The processes have not detected it yet, and their jobs in progress cannot report results.
      const server = name === 'Redis' ? redis : database;
      server[how]();
      try {
        // Writes to Postgres are retried for a while; acknowledgements to Redis are not.
        await Promise.all(parts.map((part) => stopWithin(part, name === 'Redis' ? 10_000 : 20_000)));
      } finally {
        server.open();
        service.apis.length = 0;
        service.workers.length = 0;
      }
    });
  }
}).timeout(120_000);

describe('an API process that is stopped while connections are open', () => {
  it('completes open requests, is no longer ready, closes unfinished requests, and exits with status 0', async () => {
    const service = await startTestService({ apis: 0, workers: 0, env: { DATABASE_TIMEOUT_MS: '8000' } });
    const api = await service.startApi();
    await setAllModelsOnline(service);
    const customer = await service.createCustomer('pro');
    const lock = await service.database.connect();
    await lock.query('BEGIN');
    await lock.query('SELECT 1 FROM accounts WHERE email = $1 FOR UPDATE', [customer.email]);
    const { hostname, port } = new URL(service.baseUrl);
    const open = (bytes: string) => {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => {});
      socket.write(bytes);
      return socket;
    };
    const body = JSON.stringify({ ...IMAGE, prompt: 'a mole' });
    const fields = `host: a\r\nauthorization: Bearer ${customer.key}\r\ncontent-type: application/json\r\n`;
    const head = `POST /api/generations/create/ HTTP/1.1\r\n${fields}content-length: ${body.length}\r\n\r\n`;
    const busy = open(head + body);
    let text = '';
    busy.on('data', (chunk: Buffer) => (text += chunk.toString()));
    const halfHead = open(head.slice(0, 40));
    const halfBody = open(head + body.slice(0, 5));
    const closed = [halfHead, halfBody].map((socket) => once(socket, 'close'));
    await eventually('the create waits for its account', async () => (await service.countLockWaits()) === 1);

    const stopped = stopWithin(api, 20_000);
    await closed[0];
    // One packet: the response to the last request that was read closes the connection.
    const probes = ['/api/ready/', '/api/serving/'].map((path) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`);
    await new Promise((written) => busy.write(probes.join(''), written));
    await closed[1];
    await lock.query('COMMIT');
    lock.release();
    await once(busy, 'close');
    expect(text.match(/HTTP\/1.1 \d+/g)).to.deep.equal(['HTTP/1.1 201', 'HTTP/1.1 503', 'HTTP/1.1 503']);
    expect(text.match(/Not ready: the process is stopping\./g)).to.have.length(2);
    await stopped;
    await service.stop();
  }).timeout(60_000);
});

async function stopWithin(part: Program, withinMs: number): Promise<void> {
  const startedAt = Date.now();
  const status = await part.stop();
  const ms = Date.now() - startedAt;
  expect([status, ms < withinMs], `${ms} ms\n${part.logs()}`).to.deep.equal([0, true]);
}
