import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { eventually, startTestService, type TestService, useTestService } from '../harness/testService.ts';
import { FakeUpstream } from '../fakes/fakeUpstream.ts';

const IMAGE = { model: 'imgmodel-2', params: { resolution: '1K' } };

describe('a model with a fallback', () => {
  let second: FakeUpstream;
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    second = await new FakeUpstream().start();
    const upstreams = { second: { adapter: 'fal', base_url: second.url, key: 'other' } };
    const models = {
      'second:some/image': { input: { text: '{prompt}', prompt: '$prompt', px: '$resolution' }, cents: 3.5 },
    };
    service = await startTestService({
      workers: 2,
      env: {
        IMAGE_UPSTREAM_FALLBACK: 'second:some/image',
        UPSTREAMS: JSON.stringify({ upstreams, models }),
        PROBE_INTERVAL_MS: '1000',
        UPSTREAM_TIMEOUT_MS: '800',
      },
    });
    customer = await service.createCustomer('studio');
  });
  after(async () => {
    await service.stop();
    await second.stop();
  });

  const runBy = async (uuid: string) =>
    (
      await service.sql('SELECT upstream, upstream_model, provider_cost_cents FROM generations WHERE uuid = $1', [uuid])
    )[0];

  it('uses its first choice while that is online', async () => {
    await eventually('online', () => hasModelStatus(service, 'imgmodel-2', 'online'));
    const { uuid, prompt } = await customer.createImage();
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    expect(service.upstream.jobsFor(prompt)).to.have.length(1);
    expect(await runBy(uuid)).to.deep.equal({
      upstream: 'fal',
      upstream_model: 'fal-ai/nano-banana-2',
      provider_cost_cents: '8.0000',
    });
  });

  it('uses its fallback, with the input of that model, while its first choice is offline', async () => {
    service.upstream.submit = 'error';
    service.upstream.status = 'error';
    const early = await customer.createImage();
    await eventually('degraded', async () => (await readHealth(service))[0] === 'offline');
    expect(await hasModelStatus(service, 'imgmodel-2', 'degraded')).to.equal(true);
    expect(await hasModelStatus(service, 'vidmodel-video', 'offline')).to.equal(true);
    const video = await customer.createGeneration({
      model: 'vidmodel-video',
      params: { duration: 5, resolution: '720p' },
    });
    expect([video.status, video.body.error]).to.deep.equal([503, 'model_unavailable']);
    const { uuid, prompt } = await customer.createImage();
    // The generation that the first choice rejected goes to the fallback as well.
    for (const id of [uuid, early.uuid]) expect((await customer.waitForEnd(id)).status).to.equal('succeeded');
    expect(service.upstream.jobsFor(prompt)).to.have.length(0);
    expect(second.jobsFor(prompt)[0]?.input).to.deep.equal({ text: prompt, prompt, px: '1K' });
    expect(await runBy(uuid)).to.deep.equal({
      upstream: 'second',
      upstream_model: 'some/image',
      provider_cost_cents: '3.5000',
    });
  });

  it('finishes generations at the fallback that accepted them, and returns to the first choice for new ones', async () => {
    second.outcome = 'wait';
    const { uuid, prompt } = await customer.createImage();
    await eventually('submitted', () => second.jobsFor(prompt).length === 1);
    service.upstream.submit = undefined;
    service.upstream.status = undefined;
    await eventually('online', () => hasModelStatus(service, 'imgmodel-2', 'online'));
    second.end(prompt, 'succeeded');
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    const next = await customer.createImage();
    await customer.waitForEnd(next.uuid);
    expect((await runBy(next.uuid)).upstream).to.equal('fal');
    second.outcome = 'succeed';
  });

  it('is submitted at most twice over both upstreams after unknown outcomes', async () => {
    service.upstream.submit = 'drop after acceptance';
    second.submit = 'drop after acceptance';
    const { uuid, prompt } = await customer.createImage();
    expect((await customer.waitForEnd(uuid)).status).to.equal('failed');
    service.upstream.submit = undefined;
    second.submit = undefined;
    expect(service.upstream.jobsFor(prompt).length + second.jobsFor(prompt).length).to.equal(2);
  });

  it('is offline while both upstreams are, rejects creates without a charge, and recovers with either', async () => {
    await eventually('online', () => hasModelStatus(service, 'imgmodel-2', 'online'));
    service.upstream.status = 'garbage';
    second.status = 'hang';
    await eventually('offline', () => hasModelStatus(service, 'imgmodel-2', 'offline'));
    const balance = await customer.balance();
    const refused = await customer.createGeneration(IMAGE);
    expect([refused.status, refused.body.error]).to.deep.equal([503, 'model_unavailable']);
    expect(await customer.balance()).to.equal(balance);
    second.status = undefined;
    await eventually('degraded', () => hasModelStatus(service, 'imgmodel-2', 'degraded'));
    expect((await customer.createGeneration(IMAGE)).status).to.equal(201);
    service.upstream.status = undefined;
    await eventually('online', () => hasModelStatus(service, 'imgmodel-2', 'online'));
  });
});

describe('the health of a model', () => {
  const service = useTestService({
    env: { PROBE_INTERVAL_MS: '500', UPSTREAM_TIMEOUT_MS: '300' },
    spawn: 'workers',
  });
  let customer: TestCustomer;
  before(async () => {
    customer = await service.createCustomer('pro');
  });

  for (const how of ['error', 'hang'] as const) {
    it(`turns degraded and then offline when its upstream responds with ${how}, and returns to online`, async () => {
      await eventually('online', () => hasModelStatus(service, 'imgmodel-2', 'online'));
      service.upstream.status = how;
      await eventually('degraded', async () => (await readHealth(service))[0] !== 'online');
      await eventually('offline', () => hasModelStatus(service, 'imgmodel-2', 'offline'));
      const refused = await customer.createGeneration(IMAGE);
      expect([refused.status, refused.body.error]).to.deep.equal([503, 'model_unavailable']);
      service.upstream.status = undefined;
      await eventually('online', () => hasModelStatus(service, 'imgmodel-2', 'online'));
      expect((await customer.createGeneration(IMAGE)).status).to.equal(201);
    });
  }

  it('is offline after 45 s without a probe, and online again after the next one', async () => {
    await eventually('online', () => hasModelStatus(service, 'imgmodel-2', 'online'));
    await service.workers[0]?.kill();
    await service.sql(`UPDATE upstream_health SET probed_at = probed_at - interval '45 seconds'`);
    expect(await hasModelStatus(service, 'imgmodel-2', 'offline')).to.equal(true);
    expect((await customer.createGeneration(IMAGE)).status).to.equal(503);
    await service.startWorker();
    expect(await hasModelStatus(service, 'imgmodel-2', 'online')).to.equal(true);
  });
});

describe('a rate-limited upstream', () => {
  let service: TestService;
  after(() => service.stop());

  it('never runs more generations than its concurrency allows over all workers, and receives them in order', async () => {
    service = await startTestService({
      workers: 3,
      env: { UPSTREAMS: JSON.stringify({ upstreams: { fal: { concurrency: 2 } } }) },
    });
    service.upstream.outcome = 'wait';
    const customers = await Promise.all([1, 2].map(() => service.createCustomer('studio')));
    const jobs: { uuid: string; prompt: string; owner: TestCustomer }[] = [];
    for (let index = 0; index < 6; index += 1) {
      const owner = customers[index % 2] as TestCustomer;
      jobs.push({ ...(await owner.createImage(`job ${index} ${randomUUID()}`)), owner });
    }
    let most = 0;
    const running = () => service.upstream.jobs.filter((job) => job.outcome === null);
    for (let ended = 0; ended < jobs.length; ended += 1) {
      await eventually('the next is submitted', () => running().length === Math.min(2, jobs.length - ended), 15_000);
      most = Math.max(most, running().length);
      const [oldest] = running();
      service.upstream.end(oldest?.prompt ?? '', 'succeeded');
      const { uuid, owner } = jobs.find(({ prompt }) => prompt === oldest?.prompt) as (typeof jobs)[number];
      expect((await owner.waitForEnd(uuid)).status).to.equal('succeeded');
    }
    expect(most).to.equal(2);
    expect(service.upstream.submits).to.equal(6);
    // The first two were submitted as they were created; after that always the oldest one.
    expect(service.upstream.jobs.slice(2).map(({ prompt }) => prompt)).to.deep.equal(
      jobs
        .map(({ prompt }) => prompt)
        .filter((prompt) => !service.upstream.jobs.slice(0, 2).some((job) => job.prompt === prompt)),
    );
    await service.stop();
  }).timeout(120_000);

  it('receives no more submits per minute than allowed over all workers, and all of them in the end', async () => {
    service = await startTestService({
      workers: 3,
      env: { UPSTREAMS: JSON.stringify({ upstreams: { fal: { per_minute: 120 } } }) },
    });
    // Times of the claims by the workers' clocks: the first request of each worker takes longer to arrive.
    await service.sql(`
      CREATE TABLE claim_times (at timestamptz);
      CREATE FUNCTION record_claim() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO claim_times VALUES (NEW.submit_started_at); RETURN NULL; END $$;
      CREATE TRIGGER record_claim AFTER UPDATE OF submit_started_at ON generations FOR EACH ROW
        WHEN (NEW.submit_started_at IS NOT NULL) EXECUTE FUNCTION record_claim()`);
    const at: number[] = [];
    // Running generations do not count: the concurrency is not limited.
    service.upstream.outcome = 'wait';
    service.upstream.onAccepted = () => void at.push(performance.now());
    const customer = await service.createCustomer('studio');
    const jobs = await Promise.all(Array.from({ length: 8 }, () => customer.createImage()));
    await eventually('all are submitted', () => at.length === 8);
    for (const { prompt } of jobs) service.upstream.end(prompt, 'succeeded');
    const ended = await Promise.all(jobs.map(({ uuid }) => customer.waitForEnd(uuid)));
    expect(ended.map(({ status }) => status)).to.deep.equal(Array(8).fill('succeeded'));
    // A burst of two, then one every half second.
    expect((at[7] as number) - (at[0] as number)).to.be.within(2_700, 9_000);
    const claimedAt = (await service.sql<{ at: Date }>('SELECT at FROM claim_times ORDER BY at')).map((row) => +row.at);
    expect(claimedAt).to.have.length(8);
    for (let index = 2; index < 8; index += 1) {
      expect((claimedAt[index] as number) - (claimedAt[index - 2] as number), `${index - 2} to ${index}`).to.be.above(
        450,
      );
    }
  }).timeout(60_000);
});

async function readHealth(service: TestService): Promise<string[]> {
  const rows = await service.sql(`SELECT status FROM upstream_health WHERE model = 'imgmodel-2' ORDER BY position`);
  return rows.map((row) => row.status as string);
}

async function hasModelStatus(service: TestService, slug: string, status: string): Promise<boolean> {
  const { body } = await service.request('GET', '/api/models/');
  return body.data.find((model: { slug: string }) => model.slug === slug).status === status;
}
