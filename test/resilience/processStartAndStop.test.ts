import { expect } from 'chai';
import { startProgram } from '../../dev/local/environment/program.ts';
import { findProgram, runBundled } from '../harness/builtPrograms.ts';
import { MIGRATION_NAMES } from '../../shared/lib/migrationNames.ts';
import { createDatabase, runRelease } from '../harness/databases.ts';
import { McpEventStream, openMcpSession } from '../harness/mcpClient.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import { eventually, startTestService, useTestService } from '../harness/testService.ts';

describe('the processes of the Procfile', () => {
  const service = useTestService({ spawn: 'all' });

  it('the web process completes its open requests before it exits on SIGTERM', async () => {
    const customer = await service.createCustomer('pro');
    service.upstream.outcome = 'wait';
    const { uuid, prompt } = await customer.createImage();
    await eventually('polled', () => (service.upstream.jobsFor(prompt)[0]?.polls.length ?? 0) > 0);
    const second = await service.startApi();
    // A read is waiting for a refresh when the signal arrives.
    await service.moveClockTo(new Date(service.now.getTime() + 2_100));
    const polls = () => service.upstream.jobsFor(prompt)[0]?.polls.length ?? 0;
    const before = polls();
    service.upstream.status = service.upstream.result = 'hang';
    const read = customer.on(second.baseUrl).readGeneration(uuid);
    await eventually('the read waits for the upstream', () => polls() > before);
    const stopped = second.stop();
    expect((await read).status).to.equal(200);
    expect(await stopped).to.equal(0);
    service.upstream.status = service.upstream.result = undefined;
    service.upstream.end(prompt, 'succeeded');
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
  });

  it('the web process ends the event streams of all MCP sessions on SIGTERM', async () => {
    const customer = await service.createCustomer('pro');
    const second = await service.startApi();
    const sessions = await Promise.all([openMcpSession(customer), openMcpSession(customer)]);
    const streams = await Promise.all(
      sessions.map((headers) => McpEventStream.open(customer, headers, { baseUrl: second.baseUrl })),
    );
    expect(streams.map(({ status }) => status)).to.deep.equal([200, 200]);
    const startedAt = performance.now();
    expect(await second.stop()).to.equal(0);
    expect(performance.now() - startedAt).to.be.below(scaleTimeout(5_000));
    for (const stream of streams) await stream.waitFor('ended', ({ isEnded }) => isEnded);
  });

  it('the worker process completes its current work before it exits on SIGTERM', async () => {
    const customer = await service.createCustomer('pro');
    service.upstream.outcome = 'succeed';
    const worker = service.workers.at(-1);
    const { prompt, uuid } = await customer.createImage();
    await eventually('submitted', () => service.upstream.jobsFor(prompt).length === 1);
    expect(await worker?.stop()).to.equal(0);
    const [row] = await service.sql('SELECT upstream_handle, submit_started_at FROM generations WHERE uuid = $1', [
      uuid,
    ]);
    expect(row.upstream_handle).to.have.property('request_id');
    expect(row.submit_started_at).to.equal(null);
    await service.startWorker();
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
  });

  it('the worker process completes its current work on SIGTERM while its start waits for the first probes', async () => {
    const customer = await service.createCustomer('pro');
    expect(await service.workers.at(-1)?.stop()).to.equal(0);
    const { prompt, uuid } = await customer.createImage();
    service.upstream.probe = 'hang';
    const { env, clockOffsetMs } = service;
    const worker = startProgram({ name: 'worker', args: [findProgram('worker')], env, clockOffsetMs });
    await eventually('submitted', () => service.upstream.jobsFor(prompt).length === 1);
    expect(worker.logs()).to.not.include('worker ready');
    expect(await worker.stop(30_000)).to.equal(0);
    service.upstream.probe = undefined;
    await service.startWorker();
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
  });

  it('concurrent release steps migrate an empty database once', async () => {
    const databaseUrl = await createDatabase({ empty: true });
    const results = await Promise.all(Array.from({ length: 4 }, () => runRelease(databaseUrl)));
    expect(results.map(({ status }) => status)).to.deep.equal([0, 0, 0, 0]);
    const applied = results.flatMap(({ output }) => /"applied":\[([^\]]*)\]/.exec(output)?.[1]?.match(/\w+/g) ?? []);
    expect(applied.toSorted()).to.deep.equal([...MIGRATION_NAMES].toSorted());
  });

  for (const [name, value, sentence] of [
    ['PORT', 'abc', /PORT must be a whole number from 0 to 65535/],
    ['DATABASE_URL', '', /DATABASE_URL is not set/],
    ['REDIS_URL', 'localhost', /REDIS_URL must be an address such as redis:/],
    ['NODE_ENV', 'production', /NODE_ENV=production requires it/],
    ['RATE_LIMITS', 'maybe', /RATE_LIMITS must be one of on, off/],
    ['METRICS_TOKEN', 'a-token-of-the-scraper', /METRICS_PORT is not set, but METRICS_TOKEN is/],
  ] as const) {
    it(`an invalid ${name} prevents the start with a message that names it`, async () => {
      const { status, err } = await runBundled('api', [], { env: { ...service.env, [name]: value } });
      expect(status).to.equal(78);
      expect(err).to.match(sentence);
      expect(err.trim().split('\n')).to.have.length(1);
    });
  }
});

describe('a process outside production', () => {
  it('warns at its start if other machines can reach it, and otherwise does not', async () => {
    const service = await startTestService({ apis: 0, workers: 0 });
    try {
      const open = await service.startApi({ HOST: '0.0.0.0', NODE_ENV: '' });
      expect(open.logs()).to.match(/"level":40.+NODE_ENV is development and HOST 0\.0\.0\.0/);
      expect((await service.startApi()).logs()).to.not.include('NODE_ENV');
    } finally {
      await service.stop();
    }
  });
});
