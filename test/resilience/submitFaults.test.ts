import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { IMAGE, type TestCustomer } from '../harness/apiClient.ts';
import { FaultProxy } from '../fakes/faultProxy.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { eventually, startTestService, type TestService, useTestService } from '../harness/testService.ts';
import { FakeUpstream } from '../fakes/fakeUpstream.ts';

const readGenerationRow = async (service: TestService, uuid: string) =>
  (await service.sql('SELECT * FROM generations WHERE uuid = $1', [uuid]))[0];

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

describe('a submit that a proxy in front of the upstream aborts', () => {
  const service = useTestService();
  let customer: TestCustomer;
  before(async () => {
    customer = await service.createCustomer('studio');
  });

  it('with 504 may have been accepted, so it is submitted exactly once more', async () => {
    service.upstream.submit = 504;
    const before = service.upstream.submits;
    const { uuid } = await customer.createImage();
    expect((await customer.waitForEnd(uuid)).status).to.equal('failed');
    expect(service.upstream.submits - before).to.equal(2);
  });
});

describe('a synchronous submit', () => {
  let upstream: FakeUpstream;
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    upstream = await new FakeUpstream('test').start();
    service = await startTestService({
      workers: 2,
      env: { IMAGE_UPSTREAM: 'openai:some-image', OPENAI_BASE_URL: `${upstream.url}/v1`, OPENAI_API_KEY: 'test' },
    });
    customer = await service.createCustomer('studio');
  });
  after(async () => {
    await service.stop();
    await upstream.stop();
  });

  it('that fails with 500 is submitted exactly once more', async () => {
    upstream.submit = 500;
    const before = upstream.submits;
    const { uuid } = await customer.createImage();
    expect((await customer.waitForEnd(uuid)).status).to.equal('failed');
    expect(upstream.submits - before).to.equal(2);
    upstream.submit = undefined;
  });

  it('keeps its image while the database is read-only after a failover, and runs once', async () => {
    upstream.delayMs = 1_500;
    const { uuid, prompt } = await customer.createImage();
    await eventually('submitted', () => upstream.jobsFor(prompt).length === 1);
    await setReadOnly(service, 'on');
    // The image arrives, and the worker that holds it retries to store the result, which leaves no trace.
    await pause(4_000);
    await setReadOnly(service, 'off');
    // Connections were cut, and every idle one is detected by a failed request.
    await eventually('reads are answered again', async () => (await customer.readGeneration(uuid)).status === 200);
    const ended = await customer.waitForEnd(uuid);
    upstream.delayMs = 0;
    expect(ended.status).to.equal('succeeded');
    expect(upstream.jobsFor(prompt)).to.have.length(1);
  });
});

describe('an accepted submit whose record is committed while the response of the database is lost', () => {
  it('counts as recorded: the run is not cancelled, and the generation succeeds', async () => {
    const service = await startTestService({ workers: 0 });
    service.upstream.outcome = 'wait';
    const proxy = await new FaultProxy(service.env['DATABASE_URL'] as string).start();
    const customer = await service.createCustomer('pro');
    await setAllModelsOnline(service);
    const { uuid, prompt } = await customer.createImage();
    let isLost = false;
    service.upstream.onAccepted = () => {
      proxy.cutReplies((chunk) => {
        if (isLost || !chunk.includes(uuid)) return false;
        isLost = true;
        return true;
      });
    };
    await service.startWorker({ DATABASE_URL: proxy.url });
    await eventually('the answer is lost', () => isLost);
    await eventually('polled', () => (service.upstream.jobsFor(prompt)[0]?.polls.length ?? 0) > 0);
    service.upstream.end(prompt, 'succeeded');
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    expect(service.upstream.jobsFor(prompt).map(({ cancelled }) => cancelled)).to.deep.equal([false]);
    await service.stop();
    await proxy.stop();
  }).timeout(60_000);
});

describe('an upstream that accepts a submit too late', () => {
  it('does not have its handle recorded for the upstream that took over', async () => {
    const second = await new FakeUpstream().start();
    second.submit = 'hang';
    const upstreams = { second: { adapter: 'fal', base_url: second.url, key: 'other' } };
    const service = await startTestService({
      workers: 0,
      env: {
        IMAGE_UPSTREAM_FALLBACK: 'second:some/image',
        UPSTREAMS: JSON.stringify({ upstreams }),
        PROBE_INTERVAL_MS: '500',
        // The second submit lasts until the first one has been recorded: after another one the generation would fail.
        UPSTREAM_TIMEOUT_MS: '30000',
        DATABASE_TIMEOUT_MS: '1500',
      },
    });
    const proxy = await new FaultProxy(service.env['DATABASE_URL'] as string).start();
    await service.startWorker({ DATABASE_URL: proxy.url });
    const customer = await service.createCustomer('pro');
    service.upstream.onAccepted = () => proxy.refuse();
    const { uuid, prompt } = await customer.createImage();
    await eventually('accepted', () => service.upstream.jobsFor(prompt).length === 1);
    service.upstream.onAccepted = () => {};
    service.upstream.status = 'error';
    await service.startWorker();
    await eventually('its first choice is offline', async () => {
      const rows = await service.sql("SELECT status FROM upstream_health WHERE model = 'imgmodel-2' ORDER BY position");
      return rows[0]?.status === 'offline';
    });
    await service.sql("UPDATE generations SET leased_until = now() - interval '1 minute', next_attempt_at = now()");
    // The worker without a database takes some of the jobs, too.
    await eventually('claimed for the other', () => second.submits >= 1, 60_000);
    proxy.open();
    service.upstream.status = undefined;
    const ended = await customer.waitForEnd(uuid, 40_000);
    expect(ended.status).to.equal('succeeded');
    expect((await readGenerationRow(service, uuid)).upstream).to.equal('fal');
    await service.stop();
    await Promise.all([second.stop(), proxy.stop()]);
  }).timeout(120_000);
});

describe('an upstream that rejects our account', () => {
  it('is not used for half a minute: the fallback runs its generations, or creates are rejected', async () => {
    const second = await new FakeUpstream().start();
    const upstreams = { second: { adapter: 'fal', base_url: second.url, key: 'other' } };
    const service = await startTestService({
      env: { IMAGE_UPSTREAM_FALLBACK: 'second:some/image', UPSTREAMS: JSON.stringify({ upstreams }) },
    });
    const [customer, other] = [await service.createCustomer('studio'), await service.createCustomer('studio')];
    await eventually('both probed', async () => (await service.sql('SELECT 1 FROM upstream_health')).length === 3);
    service.upstream.submit = 402;
    const images = [
      [customer, await customer.createImage()],
      [other, await other.createImage()],
    ] as const;
    for (const [owner, { uuid }] of images) {
      expect((await owner.waitForEnd(uuid)).status).to.equal('succeeded');
      expect((await readGenerationRow(service, uuid)).upstream).to.equal('second');
    }

    const balance = await customer.balance();
    const videos = [
      [customer, await customer.createVideo()],
      [other, await other.createVideo()],
    ] as const;
    await eventually('refused', async () => {
      const { status, body } = await customer.createGeneration({
        model: 'vidmodel-video',
        params: { duration: 5, resolution: '720p' },
      });
      return status === 503 && body.error === 'model_unavailable';
    });
    service.upstream.submit = undefined;
    await service.sql('UPDATE upstream_health SET circuit_open_until = now()');
    for (const [owner, { uuid }] of videos) expect((await owner.waitForEnd(uuid, 40_000)).status).to.equal('succeeded');
    expect(await customer.balance()).to.be.below(balance);
    await service.stop();
    await second.stop();
  }).timeout(120_000);
});

describe('a prompt that an upstream refuses with the status of an account error', () => {
  const LOCKED = { status: 403, body: { detail: 'The account is locked.' } };
  const service = useTestService({ workers: 2 });
  let customer: TestCustomer;
  let other: TestCustomer;
  before(async () => {
    [customer, other] = [await service.createCustomer('studio'), await service.createCustomer('studio')];
    await eventually('probed', async () => (await service.sql('SELECT 1 FROM upstream_health')).length === 2);
  });
  beforeEach(() => service.upstream.submitByPrompt.clear());

  const countOpenings = async () =>
    (await service.sql('SELECT coalesce(sum(circuit_openings), 0)::int AS openings FROM upstream_hours'))[0].openings;

  /** Creates an image that is refused, and waits until it was. */
  const createRefused = async (owner = customer) => {
    const prompt = `refused ${randomUUID()}`;
    service.upstream.submitByPrompt.set(prompt, LOCKED);
    const { uuid } = await owner.createImage(prompt);
    await eventually('refused once', async () => (await readGenerationRow(service, uuid)).account_error_at !== null);
    return uuid;
  };

  it('fails and is refunded once the upstream accepts others, which notice nothing', async () => {
    const balance = await customer.balance();
    const uuids = [];
    for (let round = 0; round < 2; round += 1) {
      uuids.push(await createRefused());
      const good = await other.createImage();
      expect((await other.waitForEnd(good.uuid)).status).to.equal('succeeded');
    }
    for (const uuid of uuids) {
      const ended = await customer.waitForEnd(uuid);
      expect([ended.status, ended.error_message]).to.deep.equal(['failed', 'The model could not generate this.']);
    }
    expect(await customer.balance()).to.equal(balance);
    expect(await countOpenings()).to.equal(0);
  });

  it('opens the circuit with that of another customer if nothing was accepted between them, and only once', async () => {
    const first = await createRefused();
    const third = await createRefused();
    const submits = service.upstream.submits;
    await eventually('refused again', () => service.upstream.submits > submits + 1);
    expect(await countOpenings()).to.equal(0);
    const second = await createRefused(other);
    await eventually('open', async () => (await countOpenings()) === 1);
    expect((await other.createGeneration(IMAGE)).body.error).to.equal('model_unavailable');
    // They are retried meanwhile, and are not counted again after the circuit has closed.
    await service.sql('UPDATE upstream_health SET circuit_open_until = now()');
    const retried = service.upstream.submits;
    await eventually('all are retried', () => service.upstream.submits >= retried + 4);
    const good = await other.createImage();
    expect((await other.waitForEnd(good.uuid)).status).to.equal('succeeded');
    for (const uuid of [first, third]) expect((await customer.waitForEnd(uuid, 40_000)).status).to.equal('failed');
    expect((await other.waitForEnd(second, 40_000)).status).to.equal('failed');
    expect(await countOpenings()).to.equal(1);
  }).timeout(60_000);

  it('fails at once and is refunded if no word of the response is about our account, and others are served', async () => {
    for (const body of [{ message: 'Forbidden' }, { error: 'Content violates usage guidelines.' }, '<html>blocked']) {
      const balance = await customer.balance();
      const before = service.upstream.submits;
      const uuids = [];
      for (const prompt of [`refused ${randomUUID()}`, `refused ${randomUUID()}`]) {
        service.upstream.submitByPrompt.set(prompt, { status: 403, body });
        uuids.push((await customer.createImage(prompt)).uuid);
      }
      for (const uuid of uuids) expect((await customer.waitForEnd(uuid)).status).to.equal('failed');
      expect(service.upstream.submits).to.equal(before + 2);
      expect(await customer.balance()).to.equal(balance);
      const good = await other.createImage();
      expect((await other.waitForEnd(good.uuid)).status).to.equal('succeeded');
    }
  });

  it('opens the circuit with another one of the same customer half a minute later if nothing was accepted', async () => {
    const openings = await countOpenings();
    await other.waitForEnd((await other.createImage()).uuid);
    const uuids = [await createRefused(), await createRefused()];
    expect(await countOpenings()).to.equal(openings);
    await service.sql(`UPDATE upstream_health SET account_error_at = account_error_at - interval '30 seconds',
                              accepted_at = accepted_at - interval '30 seconds'`);
    uuids.push(await createRefused());
    await eventually('open', async () => (await countOpenings()) === openings + 1);
    await service.sql('UPDATE upstream_health SET circuit_open_until = now()');
  }).timeout(90_000);
});

/** Makes the database behave like a standby: reads succeed, and writes are rejected. */
async function setReadOnly(service: TestService, value: 'on' | 'off'): Promise<void> {
  const name = new URL(service.env['DATABASE_URL'] as string).pathname.slice(1);
  const client = await service.database.connect();
  await client.query('SET default_transaction_read_only = off');
  await client.query(`ALTER DATABASE "${name}" SET default_transaction_read_only = ${value}`);
  await client.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'genmeter'`,
  );
  client.release();
}
