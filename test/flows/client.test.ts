import { expect } from 'chai';
import { Genmeter, GenmeterError } from '../../packages/client/src/index.ts';
import { FaultProxy } from '../fakes/faultProxy.ts';
import { IMAGE, type TestCustomer, VIDEO } from '../harness/apiClient.ts';
import { registerClient } from '../harness/oauthClient.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

const UNKNOWN_UUID = '01939b6e-5c1f-7a4d-9e0b-3f1d2c4b5a69';

async function readAll<Item>(list: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of list) items.push(item);
  return items;
}

async function catchError(promise: Promise<unknown>): Promise<GenmeterError> {
  const outcome = await promise.catch((thrown: unknown) => thrown);
  expect(outcome).to.be.instanceOf(GenmeterError);
  return outcome as GenmeterError;
}

describe('the client library', () => {
  let service: TestService;
  let customer: TestCustomer;
  let client: Genmeter;

  before(async () => {
    service = await startTestService({ env: { WEBHOOK_ADDRESSES: 'any' } });
  });
  after(() => service.stop());
  beforeEach(async () => {
    customer = await service.createCustomer();
    client = new Genmeter({ key: customer.key, baseUrl: service.baseUrl });
  });

  it('creates, waits for, reads and deletes generations', async () => {
    const { generations } = client;
    const image = await generations.create({ ...IMAGE, prompt: 'A lighthouse' });
    const video = await generations.create({ ...VIDEO, prompt: 'Waves' });
    expect([image.status, image.credits_charged]).to.deep.equal(['queued', 8]);
    const ended = await generations.wait(image.uuid);
    expect(ended.status).to.equal('succeeded');
    expect(await generations.get(image.uuid)).to.deep.equal(ended);
    await generations.wait(video.uuid);
    expect((await readAll(generations.list({ kind: 'video' }))).map(({ uuid }) => uuid)).to.deep.equal([video.uuid]);
    await generations.delete(image.uuid);
    expect(await catchError(generations.get(image.uuid))).to.include({ error: 'not_found', status: 404 });
  });

  it('estimates the price of a generation, and filters by metadata', async () => {
    const request = { ...IMAGE, prompt: 'A lighthouse', metadata: { project: 'north & south' } };
    const estimate = await client.generations.estimate(request);
    expect(estimate).to.include({ credits: 8, balance: 1_100, balance_after: 1_092, affordable: true, refusal: null });
    expect(await customer.balance()).to.equal(1_100);
    await customer.createImage();
    const { uuid } = await client.generations.create({ ...request, max_credits: estimate.credits });
    const found = await readAll(client.generations.list({ metadata: { project: 'north & south' } }));
    expect(found.map((one) => [one.uuid, one.metadata])).to.deep.equal([[uuid, { project: 'north & south' }]]);
    const expensive = client.generations.create({ ...request, max_credits: 7 });
    expect(await catchError(expensive)).to.include({ error: 'validation_error', status: 400 });
  });

  it('cancels a queued generation, which is refunded', async () => {
    Object.assign(service.upstream, { outcome: 'wait', isQueueing: true });
    try {
      const { uuid } = await client.generations.create({ ...VIDEO, prompt: 'Waves' });
      expect(await client.generations.cancel(uuid)).to.include({ uuid });
      const ended = await client.generations.wait(uuid);
      expect(ended).to.include({ status: 'failed', error_message: 'Canceled.' });
      expect(await client.generations.cancel(uuid)).to.deep.equal(ended);
      expect(await customer.balance()).to.equal(1_100);
    } finally {
      service.upstream.reset();
    }
  });

  it('reads lists page by page until the end', async () => {
    const names = Array.from({ length: 23 }, (_, index) => `key ${index}`);
    for (const name of names) {
      const { uuid } = await client.keys.create({ name });
      await client.keys.revoke(uuid);
    }
    const keys = await readAll(client.keys.list());
    expect(keys.map(({ name }) => name)).to.deep.equal([...names.toReversed(), 'test']);
    expect(keys.filter(({ revoked }) => revoked)).to.have.length(23);
    expect((await client.keys.list().page(2)).pagination).to.include({ current_page: 2, total_items: 24 });
    expect(await readAll(client.usage.byKey())).to.have.length(24);
  });

  it('reads models, plans, usage and ledger; models and plans without a key', async () => {
    const visitor = new Genmeter({ baseUrl: service.baseUrl });
    expect((await readAll(visitor.models.list())).map(({ slug }) => slug)).to.deep.equal([
      'vidmodel-video',
      'imgmodel-2',
    ]);
    expect((await visitor.plans.list()).map(({ slug }) => slug)).to.include('pro');
    expect(await catchError(visitor.usage.summary())).to.include({ error: 'invalid_api_key', status: 401 });
    const { uuid } = await client.generations.create({ ...IMAGE, prompt: 'A lighthouse' });
    await client.generations.wait(uuid);
    expect((await client.usage.summary()).credits.balance).to.equal(1_092);
    expect((await readAll(client.ledger.list({ entry_type: 'burn' }))).map(({ amount }) => amount)).to.deep.equal([-8]);
  });

  it('manages webhook endpoints and their deliveries', async () => {
    const { webhooks } = client;
    const created = await webhooks.create({ url: 'http://127.0.0.1:9/', events: ['generation.succeeded'] });
    expect(created.secret).to.match(/^whsec_/);
    const { secret: _, ...endpoint } = created;
    expect(await webhooks.get(created.uuid)).to.deep.equal(endpoint);
    expect((await webhooks.rotateSecret(created.uuid)).secret).to.not.equal(created.secret);
    const delivery = await webhooks.test(created.uuid);
    expect((await readAll(webhooks.deliveries(created.uuid))).map(({ uuid }) => uuid)).to.deep.equal([delivery.uuid]);
    expect((await webhooks.update(created.uuid, { enabled: false, description: 'off' })).enabled).to.equal(false);
    expect(await catchError(webhooks.redeliver(created.uuid, delivery.uuid))).to.include({ status: 400 });
    expect(await readAll(webhooks.list())).to.have.length(1);
    await webhooks.delete(created.uuid);
    expect(await readAll(webhooks.list())).to.deep.equal([]);
  });

  it('takes access tokens from a function, and asks it once more for one that was rejected', async () => {
    const oauth = await registerClient(service.baseUrl);
    const { access_token: token } = await oauth.authorizeAndExchange(customer, { resource: `${service.baseUrl}/api/` });
    const calls: (string | undefined)[] = [];
    const open = (tokens: string[]) =>
      new Genmeter({
        baseUrl: service.baseUrl,
        getToken: async (rejected) => {
          calls.push(rejected);
          return tokens[calls.length - 1] as string;
        },
      });
    expect((await open(['expired', token]).usage.summary()).credits.balance).to.equal(1_100);
    expect(calls.splice(0)).to.deep.equal([undefined, 'expired']);
    expect(await catchError(open(['expired', 'revoked']).usage.summary())).to.include({ status: 401 });
    expect(calls.splice(0)).to.deep.equal([undefined, 'expired']);
    expect(() => new Genmeter({ baseUrl: service.baseUrl, key: customer.key, getToken: async () => token })).to.throw(
      'Pass key or getToken, not both.',
    );
  });

  it('throws the error of the service with its code, detail, status and request id', async () => {
    const { generations } = client;
    const invalid = await catchError(generations.create({ ...IMAGE, prompt: '' }));
    expect(invalid).to.include({ error: 'validation_error', status: 400 });
    expect(invalid.detail).to.include('prompt');
    expect(invalid.message).to.equal(invalid.detail);
    expect(invalid.requestId).to.be.a('string').and.not.equal('');
    expect(await catchError(generations.get(UNKNOWN_UUID))).to.include({ error: 'not_found', status: 404 });
    const poor = await service.createCustomer(null);
    const visitor = new Genmeter({ key: poor.key, baseUrl: service.baseUrl });
    expect(await catchError(visitor.generations.create({ ...IMAGE, prompt: 'A lighthouse' }))).to.include({
      error: 'subscription_required',
      status: 402,
    });
  });

  it('ends a wait after its timeout, and with the reason of its signal; the generation continues', async () => {
    service.upstream.outcome = 'wait';
    try {
      const prompt = 'A slow lighthouse';
      const { uuid } = await client.generations.create({ ...IMAGE, prompt });
      expect(await catchError(client.generations.wait(uuid, { timeout: 300 }))).to.include({ error: 'timeout' });
      const signal = AbortSignal.timeout(300);
      const outcome = await client.generations.wait(uuid, { signal }).catch((error: unknown) => error);
      expect(outcome).to.equal(signal.reason);
      service.upstream.end(prompt, 'succeeded');
      expect((await client.generations.wait(uuid)).status).to.equal('succeeded');
    } finally {
      service.upstream.reset();
    }
  });

  describe('behind a proxy that drops responses', () => {
    let proxy: FaultProxy;
    let remaining = 0;
    before(async () => {
      proxy = await new FaultProxy(service.baseUrl).start();
      proxy.cutReplies(() => {
        remaining -= 1;
        return remaining >= 0;
      });
    });
    after(() => proxy.stop());
    const throughProxy = () => new Genmeter({ key: customer.key, baseUrl: proxy.url });

    it('charges a create once whose responses are lost, and returns its generation', async () => {
      const before = await customer.balance();
      remaining = 2;
      const generation = await throughProxy().generations.create({ ...IMAGE, prompt: 'A lighthouse' });
      expect(remaining).to.equal(-1);
      expect((await readAll(client.generations.list())).map(({ uuid }) => uuid)).to.deep.equal([generation.uuid]);
      expect(await customer.balance()).to.equal(before - 8);
      expect((await customer.ledger()).filter(([type]) => type === 'burn')).to.have.length(1);
    });

    it('charges once if the caller repeats a failed create with its own idempotency key', async () => {
      const request = { ...IMAGE, prompt: 'A lighthouse' };
      const patient = new Genmeter({ key: customer.key, baseUrl: proxy.url, maxRetries: 0 });
      remaining = 1;
      const options = { idempotencyKey: 'order-1' };
      expect(await catchError(patient.generations.create(request, options))).to.include({ error: 'network_error' });
      const { uuid } = await patient.generations.create(request, options);
      expect((await readAll(client.generations.list())).map((one) => one.uuid)).to.deep.equal([uuid]);
      expect((await customer.ledger()).filter(([type]) => type === 'burn')).to.have.length(1);
    });

    it('creates one key and one endpoint, and deletes a generation, if the first response is lost', async () => {
      const lossy = throughProxy();
      remaining = 1;
      const key = await lossy.keys.create({ name: 'one' });
      remaining = 1;
      const endpoint = await lossy.webhooks.create({ url: 'http://127.0.0.1:9/' });
      const { uuid } = await client.generations.create({ ...IMAGE, prompt: 'A lighthouse' });
      remaining = 1;
      await lossy.generations.delete(uuid);
      expect((await readAll(client.keys.list())).map((one) => one.uuid))
        .to.include(key.uuid)
        .and.have.length(2);
      expect((await readAll(client.webhooks.list())).map((one) => one.uuid)).to.deep.equal([endpoint.uuid]);
      expect(await readAll(client.generations.list())).to.deep.equal([]);
      const fresh = new Genmeter({ key: key.key, baseUrl: service.baseUrl });
      expect((await fresh.usage.summary()).plan?.slug).to.equal('pro');
    });
  });
});
