import { randomUUID } from 'node:crypto';
import { PassThrough, Readable, type Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { FakeUpstream } from '../fakes/fakeUpstream.ts';
import { PNG } from '../fakes/misbehave.ts';
import { ScriptedServer } from '../fakes/scriptedServer.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { recordAccepted } from '../../shared/domain/generations/execution/submit.ts';
import type { Row } from '../harness/functionDatabase.ts';
import { addTestKey } from '../harness/testMode.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';

const offer = (more: object) => ({
  name: 'Pictures',
  kind: 'image',
  description: 'Pictures from a text prompt.',
  upstreams: ['fal:acme/pictures', 'second:acme/pictures', 'third:acme/pictures'],
  params: { size: { enum: ['small', 'large'], default: 'small' } },
  credits: 4,
  ...more,
});

/** Too many combinations to try all of them at the start. */
const UNFIT_PARAMS = {
  size: { enum: Array.from({ length: 100 }, (_, index) => `size ${index}`), default: 'size 0' },
  style: { enum: ['plain', 'named'], default: 'plain' },
  name: { enum: ['one', 'two'] },
};

const CATALOG = JSON.stringify({
  models: {
    cheapest: offer({ routing: 'cheapest' }),
    weighted: offer({ routing: [3, 1, 0] }),
    retried: offer({ retry_elsewhere: true }),
    once: offer({}),
    unfit: offer({ upstreams: ['gpu:unfit'], params: UNFIT_PARAMS }),
    twins: offer({ upstreams: ['gpu:one', 'gpu:two'], retry_elsewhere: true }),
  },
});
/** Upstreams of all models together. */
const CHOICES = 15;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A server with two models, which runs a repeated submit once. */
const GPU = {
  auth: { type: 'none' },
  probe: { path: '/health' },
  image: {
    input: { prompt: '$prompt', size: '$size' },
    submit: { path: '/{model}', body: { id: '$generation_id' }, output: {} },
  },
};

const input = { prompt: '$prompt', size: '$size' };
const cents = (small: number, large: number) => ({ $by: 'size', small, large });

describe('a model with several upstreams', () => {
  const others = { second: new FakeUpstream(), third: new FakeUpstream() };
  const testUpstream = new FakeUpstream();
  const gpu = new ScriptedServer().on('GET /health', { status: 200, body: {} });
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    await Promise.all([...Object.values(others), testUpstream, gpu].map((upstream) => upstream.start()));
    const upstreams = Object.fromEntries(
      Object.entries(others).map(([name, { url }]) => {
        // Generations queue for the third one: another statement chooses its upstream.
        const limits = name === 'third' ? { concurrency: 10 } : {};
        return [name, { adapter: 'fal', base_url: url, key: 'other', callbacks: false, ...limits }];
      }),
    );
    const models = {
      'fal:acme/pictures': { input, cents: cents(3, 3) },
      'second:acme/pictures': { input, cents: cents(2, 5) },
      'third:acme/pictures': { input },
      'gpu:unfit': { input: { ...input, style: { $by: 'style', plain: 'plain', named: '{name}' } } },
    };
    const own = { adapter: 'http', base_url: gpu.url, local: true, protocol: GPU };
    const env = {
      CATALOG,
      UPSTREAMS: JSON.stringify({ upstreams: { ...upstreams, gpu: own }, models }),
      PROBE_INTERVAL_MS: '1000',
      TEST_UPSTREAM_URL: testUpstream.url,
    };
    service = await startTestService({ workers: 2, env });
    customer = await service.createCustomer('studio');
    await eventually('online', async () => (await countByStatus('online')) === CHOICES);
  });
  after(async () => {
    await service.stop();
    await Promise.all([...Object.values(others), testUpstream, gpu].map((upstream) => upstream.stop()));
  });
  afterEach(() => {
    for (const upstream of [service.upstream, ...Object.values(others)]) upstream.reset();
  });

  const countByStatus = async (status: string) =>
    (await service.sql('SELECT 1 FROM upstream_health WHERE status = $1', [status])).length;

  const findRow = async (uuid: string) =>
    (await service.sql('SELECT * FROM generations WHERE uuid = $1', [uuid]))[0] as Row;

  const readEntries = async (uuid: string) =>
    (await service.sql('SELECT entry_type FROM ledger_entries WHERE generation_uuid = $1 ORDER BY number', [uuid])).map(
      ({ entry_type: type }) => type as string,
    );

  async function create(model: string, params: object = {}): Promise<{ uuid: string; prompt: string }> {
    const prompt = `a picture ${randomUUID()}`;
    const { status, body } = await customer.createGeneration({ model, params, prompt });
    expect([status, body.error]).to.deep.equal([201, undefined]);
    return { uuid: body.uuid, prompt };
  }

  async function make(model: string, params: object = {}) {
    const { uuid, prompt } = await create(model, params);
    const { status } = await customer.waitForEnd(uuid);
    const { upstream, upstream_order, failed_over_at } = await findRow(uuid);
    return { uuid, prompt, status, upstream, upstream_order, failed_over_at };
  }

  it('is run by the cheapest one for its parameters', async () => {
    expect(await make('cheapest', { size: 'small' })).to.deep.include({
      upstream: 'second',
      upstream_order: [1, 0, 2],
    });
    expect(await make('cheapest', { size: 'large' })).to.deep.include({ upstream: 'fal', upstream_order: [0, 1, 2] });
  });

  it('is run by the next one while the cheapest is offline, also if generations queue for it', async () => {
    others.second.probe = others.second.status = 'error';
    service.upstream.probe = service.upstream.status = 'error';
    await eventually('offline', async () => (await countByStatus('offline')) === 8);
    expect(await make('cheapest')).to.deep.include({ upstream: 'third', upstream_order: [1, 0, 2] });
    others.second.reset();
    service.upstream.reset();
    await eventually('online', async () => (await countByStatus('online')) === CHOICES);
  });

  it('is run by each as often as its weight says', async () => {
    const made = [];
    // As many as run at a time.
    for (let round = 0; round < 5; round += 1)
      made.push(...(await Promise.all(Array.from({ length: 8 }, () => make('weighted')))));
    const counts = { fal: 0, second: 0, third: 0 } as Record<string, number>;
    for (const { upstream } of made) counts[upstream] = (counts[upstream] ?? 0) + 1;
    expect(counts['third']).to.equal(0);
    expect(counts['second']).to.be.within(1, 25);
    expect(counts['fal']).to.be.within(15, 39);
  });

  it('is tried at another one if a run fails, and charged once', async () => {
    service.upstream.outcome = 'fail';
    const made = await make('retried');
    expect(made).to.deep.include({ status: 'succeeded', upstream: 'second', upstream_order: [1, 2] });
    expect(made.failed_over_at).to.be.instanceOf(Date);
    expect(await readEntries(made.uuid)).to.deep.equal(['burn']);
    expect([service.upstream, others.second].map((one) => one.jobsFor(made.prompt).length)).to.deep.equal([1, 1]);
  });

  it('is tried at another one if its submission is rejected, also if that one has a queue', async () => {
    service.upstream.submit = { status: 422, body: { detail: 'no such size' } };
    others.second.probe = others.second.status = 'error';
    await eventually('offline', async () => (await countByStatus('offline')) === 4);
    const made = await make('retried');
    expect(made).to.deep.include({ status: 'succeeded', upstream: 'third' });
    others.second.reset();
    await eventually('online', async () => (await countByStatus('online')) === CHOICES);
  });

  it('is tried once more only, and then refunded', async () => {
    service.upstream.outcome = others.second.outcome = 'fail';
    const made = await make('retried');
    expect(made).to.deep.include({ status: 'failed', upstream: 'second' });
    expect(await readEntries(made.uuid)).to.deep.equal(['burn', 'refund']);
    expect(others.third.jobsFor(made.prompt)).to.have.length(0);
  });

  it('is tried at another model of the same server under another id, which does not name the failed run', async () => {
    gpu.on('POST /one', { status: 422, body: { error: 'no such size' } });
    gpu.on('POST /two', { status: 200, headers: { 'content-type': 'image/png' }, body: Readable.from([PNG]) });
    const { uuid, status } = await make('twins');
    expect(status).to.equal('succeeded');
    const submits = gpu.requests.filter(({ call }) => call.startsWith('POST'));
    expect(submits.map(({ call }) => call)).to.deep.equal(['POST /one', 'POST /two']);
    const [first, second] = submits.map(({ bytes }) => (JSON.parse(bytes.toString()) as { id: string }).id);
    expect(first).to.equal(uuid);
    expect(second).to.match(UUID).and.not.equal(uuid);
  });

  it('is refunded at once if no other upstream is online', async () => {
    service.upstream.outcome = 'fail';
    for (const other of Object.values(others)) other.probe = other.status = 'error';
    await eventually('offline', async () => (await countByStatus('offline')) === 8);
    const made = await make('retried');
    expect(made).to.deep.include({ status: 'failed', upstream: 'fal', failed_over_at: null });
    expect(await readEntries(made.uuid)).to.deep.equal(['burn', 'refund']);
    for (const other of Object.values(others)) other.reset();
    await eventually('online', async () => (await countByStatus('online')) === CHOICES);
  });

  it('is not tried elsewhere for a reason that is the same everywhere, or if its model does not say so', async () => {
    service.upstream.submit = 'refuse';
    const refused = await make('retried');
    service.upstream.reset();
    service.upstream.outcome = 'fail';
    const failed = await make('once');
    for (const { uuid, prompt, status, failed_over_at: failedOverAt } of [refused, failed]) {
      expect([status, failedOverAt]).to.deep.equal(['failed', null]);
      expect(await readEntries(uuid)).to.deep.equal(['burn', 'refund']);
      expect(others.second.jobsFor(prompt)).to.have.length(0);
    }
  });

  it('continues at the other one if the failed run is read again', async () => {
    service.upstream.outcome = 'fail';
    others.second.outcome = 'wait';
    const { uuid, prompt } = await create('retried');
    await eventually('tried elsewhere', () => others.second.jobsFor(prompt).length === 1);
    const job = service.upstream.jobsFor(prompt)[0];
    // The call-back of the failed run arrives late, and readers poll.
    const callback = job === undefined ? null : service.upstream.buildCallback(job);
    if (callback !== null && job !== undefined) service.upstream.deliver(callback, job);
    await Promise.all(Array.from({ length: 10 }, () => customer.request('GET', `/api/generations/${uuid}/`)));
    others.second.end(prompt, 'succeeded');
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    expect(await readEntries(uuid)).to.deep.equal(['burn']);
  });

  it('does not return to the failed run if the acceptance of that is recorded again', async () => {
    service.upstream.outcome = 'fail';
    others.second.submit = 'hang';
    const { uuid, prompt } = await create('retried');
    await eventually('tried elsewhere', async () => (await findRow(uuid)).upstream === 'second');
    const [job] = service.upstream.jobsFor(prompt);
    const { account_id, submit_started_at: claimedAt } = await findRow(uuid);
    const receipt = {
      uuid,
      account_id,
      handle: { request_id: job?.id },
      upstream: 'fal',
      upstream_model: 'fake/image',
    };
    const since = new Date(claimedAt.getTime() - 1_000);
    expect(await recordAccepted({ ...receipt, since, failed_over_at: null, firstPollDelayMs: 2_000 })).to.equal('late');
    expect(await findRow(uuid)).to.deep.include({
      upstream: 'second',
      submit_started_at: claimedAt,
      submitted_at: null,
    });
    others.second.submit = undefined;
    await service.sql('UPDATE generations SET leased_until = $2, next_attempt_at = $2 WHERE uuid = $1', [
      uuid,
      service.now,
    ]);
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
  });

  it('is not counted as submitted if its input cannot be built', async () => {
    const { uuid } = await create('unfit', { style: 'named' });
    await eventually('released', async () => {
      const { submit_started_at: startedAt, leased_until: notBefore } = await findRow(uuid);
      return startedAt === null && notBefore !== null;
    });
    expect(await findRow(uuid)).to.include({ status: 'queued', unconfirmed_submits: 0 });
  });

  it('is refunded if its owner asks to cancel it before the run fails', async () => {
    service.upstream.outcome = 'wait';
    const { uuid, prompt } = await create('retried');
    await eventually('submitted', () => service.upstream.jobsFor(prompt).length === 1);
    await customer.request('POST', `/api/generations/${uuid}/cancel/`);
    service.upstream.end(prompt, 'failed');
    expect((await customer.waitForEnd(uuid)).status).to.equal('failed');
    expect(others.second.jobsFor(prompt)).to.have.length(0);
  });

  it('continues at the one that has accepted it when a submission that lost its lease is rejected', async () => {
    const before = service.upstream.submits;
    let release: (() => void) | undefined;
    service.upstream.submitHold = new Promise<void>((resolve) => (release = resolve));
    others.second.outcome = 'wait';
    const { uuid, prompt } = await create('once');
    await eventually('submitted', () => service.upstream.submits > before);
    // As if its worker had stalled, and its upstream were offline.
    await service.sql(
      `UPDATE generations SET submit_started_at = submit_started_at - interval '1 second', leased_until = $2,
              next_attempt_at = $2, upstream_order = '{1}'
        WHERE uuid = $1`,
      [uuid, service.now],
    );
    await eventually('accepted', async () => (await findRow(uuid)).upstream_handle !== null);
    service.upstream.submit = 'refuse';
    release?.();
    service.upstream.submitHold = undefined;
    await delay(1_000);
    expect(await findRow(uuid)).to.include({ status: 'queued', upstream: 'second' });
    others.second.end(prompt, 'succeeded');
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    expect(await readEntries(uuid)).to.deep.equal(['burn']);
  });

  it('is not run again in test mode, which has one upstream', async () => {
    testUpstream.outcome = 'fail';
    const { tester } = await addTestKey(customer);
    const { body } = await tester.createGeneration({ model: 'retried', params: {}, prompt: 'a test' });
    expect((await tester.waitForEnd(body.uuid)).status).to.equal('failed');
    expect(testUpstream.jobsFor('a test')).to.have.length(1);
    expect(await findRow(body.uuid)).to.deep.include({ upstream: 'test-mode', failed_over_at: null });
  });

  it('keeps the claim of its second run if a worker still collects the output of the first', async () => {
    let response: Writable | undefined;
    const sendStart = <To extends NodeJS.WritableStream>(to: To): To => {
      response = to as unknown as Writable;
      to.write(PNG.subarray(0, 8));
      return to;
    };
    const content = Object.assign(new PassThrough(), { pipe: sendStart });
    service.upstream.file = { status: 200, headers: { 'content-type': 'image/png' }, body: content };
    const { uuid, prompt } = await create('retried');
    await eventually('collecting', () => response !== undefined);
    const until = new Date(service.now.getTime() + 3_600_000);
    // As if the lease had expired, and another worker had found the output unusable and submitted the next run.
    await service.sql(
      `UPDATE generations
          SET failed_over_at = $2, upstream_order = '{1,2}', upstream = 'second', upstream_handle = NULL,
              upstream_output = NULL, submitted_at = NULL, submit_started_at = $2, leased_until = $3, next_attempt_at = $3
        WHERE uuid = $1`,
      [uuid, service.now, until],
    );
    const readClaim = async () =>
      (await service.sql('SELECT leased_until, submit_started_at FROM generations WHERE uuid = $1', [uuid]))[0];
    const claim = await readClaim();
    // Longer than the interval of its heartbeats.
    await delay(1_500);
    expect(await readClaim()).to.deep.equal(claim);
    response?.destroy();
    await delay(500);
    expect(await readClaim()).to.deep.equal(claim);
    expect(claim?.leased_until).to.deep.equal(until);

    await service.sql('UPDATE generations SET leased_until = $2, next_attempt_at = $2 WHERE uuid = $1', [
      uuid,
      service.now,
    ]);
    const made = await customer.waitForEnd(uuid);
    expect([made.status, others.second.jobsFor(prompt).length]).to.deep.equal(['succeeded', 1]);
    expect(made.output_url).to.include(`${uuid}-2.png`);
  });
});
