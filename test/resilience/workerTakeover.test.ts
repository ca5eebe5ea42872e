import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { RunningServer } from '../../dev/local/servers/postgres.ts';
import { startRedis } from '../../dev/local/servers/redis.ts';
import { requireTestEnv } from '../harness/databases.ts';
import type { Program } from '../../dev/local/environment/program.ts';
import { eventually, startTestService, type TestService, useTestService } from '../harness/testService.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';

describe('after a worker has died', () => {
  const service = useTestService({ workers: 0, env: { DATABASE_TIMEOUT_MS: '5000' } });
  let worker: Program;
  before(async () => {
    worker = await service.startWorker();
  });

  it('another worker completes its submitted generations within 13 s of the clock', async () => {
    service.upstream.outcome = 'wait';
    const customer = await service.createCustomer('pro');
    const { uuid, prompt } = await customer.createVideo();
    // Wait for the record as well: otherwise the next worker counts a submit of unknown outcome.
    await eventually('submitted', async () => {
      const [row] = await service.sql('SELECT upstream_handle FROM generations WHERE uuid = $1', [uuid]);
      return row.upstream_handle !== null;
    });
    await worker.kill();
    service.upstream.end(prompt, 'succeeded');
    // There are no readers, so the sweep finds it. It runs every 2 s, which makes the 13 s at most 15 s.
    await service.moveClockTo(new Date(service.now.getTime() + 13_000));
    worker = await service.startWorker();
    const [row] = await hasEndedInDatabase(service, uuid);
    expect(row.status).to.equal('succeeded');
    expect(service.upstream.jobsFor(prompt)).to.have.length(1);
  });

  it('a generation that it was submitting is submitted at most once more', async () => {
    const customer = await service.createCustomer('pro');
    service.upstream.outcome = 'succeed';
    // The upstream accepts, and the worker is killed before it records the response.
    service.upstream.onAccepted = () => worker.signal('SIGKILL');
    const { uuid, prompt } = await customer.createImage();
    await eventually('accepted', () => service.upstream.jobsFor(prompt).length === 1);
    service.upstream.onAccepted = () => {};
    // Resolves once it has exited.
    await worker.kill();
    await service.moveClockTo(new Date(service.now.getTime() + 13_000));
    worker = await service.startWorker();
    const [row] = await hasEndedInDatabase(service, uuid);
    expect(row.status).to.equal('succeeded');
    expect(service.upstream.jobsFor(prompt)).to.have.length(2);
  });

  it('a generation with two submits of unknown outcome fails and is refunded', async () => {
    const customer = await service.createCustomer('pro');
    service.upstream.submit = 'drop after acceptance';
    const { uuid, prompt } = await customer.createImage();
    const ended = await customer.waitForEnd(uuid);
    service.upstream.submit = undefined;
    expect(ended.status).to.equal('failed');
    expect(service.upstream.jobsFor(prompt)).to.have.length(2);
    expect(await customer.balance()).to.equal(1100);
  });
});

describe('while Redis is empty or unavailable', () => {
  let redis: RunningServer;
  let service: TestService;
  let dataDir: string;
  before(async () => {
    dataDir = await mkdtemp(join(requireTestEnv('TEST_FOLDER'), 'redis-'));
    redis = await startRedis({ dataDir, appendOnly: false, log: () => {} });
    service = await startTestService({ redisUrl: redis.url, env: { RATE_LIMITS: 'on' } });
  });
  after(async () => {
    await service.stop();
    await redis.stop();
  });

  it('the sweep re-enqueues every queued generation from Postgres', async () => {
    const customer = await service.createCustomer('studio');
    service.upstream.outcome = 'wait';
    const waiting = await Promise.all(Array.from({ length: 3 }, () => customer.createImage()));
    await eventually('submitted', () => waiting.every(({ prompt }) => service.upstream.jobsFor(prompt).length === 1));
    await service.workers[0]?.stop();
    const unsubmitted = await Promise.all(Array.from({ length: 3 }, () => customer.createImage()));
    const client = new Redis(redis.url);
    await client.flushall();
    client.disconnect();
    service.upstream.outcome = 'succeed';
    for (const { prompt } of waiting) service.upstream.end(prompt, 'succeeded');
    await service.startWorker();
    for (const { uuid } of [...waiting, ...unsubmitted]) {
      const [row] = await hasEndedInDatabase(service, uuid);
      expect(row.status).to.equal('succeeded');
    }
  });

  it('a running worker restores the schedules of an emptied Redis', async () => {
    const customer = await service.createCustomer('studio');
    const client = new Redis(redis.url);
    await client.flushall();
    const { uuid } = await customer.createImage();
    await client.flushall();
    client.disconnect();
    const [row] = await hasEndedInDatabase(service, uuid);
    expect(row.status).to.equal('succeeded');
  });

  it('readiness is 503 while the worker runs and takes no jobs from the queue', async () => {
    const prefix = `{${service.env['REDIS_PREFIX']}:maintenance}`;
    const heartbeat = `${prefix}:heartbeat`;
    const client = new Redis(redis.url);
    const queue = new Queue('maintenance', { connection: client, prefix });
    const readStatus = async () => (await service.request('GET', '/api/ready/')).status;
    await eventually('ready', async () => (await readStatus()) === 200);
    expect(await client.pttl(heartbeat)).to.be.within(1, 45_000);
    await queue.pause();
    await eventually('not ready', async () => {
      await client.del(heartbeat);
      return (await readStatus()) === 503;
    });
    await queue.resume();
    await eventually('ready again', async () => (await readStatus()) === 200);
    await queue.close();
    client.disconnect();
  });

  it('creates are accepted without Redis, and run when it is back', async () => {
    const customer = await service.createCustomer('studio');
    await redis.stop();
    const startedAt = Date.now();
    const created = await customer.createGeneration({ model: 'imgmodel-2', params: { resolution: '1K' } });
    expect(created.status).to.equal(201);
    expect((await customer.readGeneration(created.body.uuid)).body.status).to.equal('queued');
    expect(Date.now() - startedAt).to.be.below(scaleTimeout(5_000));
    redis = await startRedis({ dataDir, port: redis.port, appendOnly: false, log: () => {} });
    const [row] = await hasEndedInDatabase(service, created.body.uuid);
    expect(row.status).to.equal('succeeded');
  });
});

async function hasEndedInDatabase(service: TestService, uuid: string) {
  const look = () => service.sql('SELECT status FROM generations WHERE uuid = $1', [uuid]);
  await eventually(`${uuid} ended`, async () => (await look())[0].status !== 'queued', 60_000);
  return look();
}
