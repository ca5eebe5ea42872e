import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { quantile } from '../../dev/local/statistics.ts';
import { deliverWebhooks } from '../../shared/domain/webhooks/deliverWebhooks.ts';
import { WEBHOOK_ATTEMPT_TIMEOUT_MS, WEBHOOK_CONCURRENCY } from '../../shared/spec/webhookDelivery.ts';
import { isSignedWith, WebhookReceiver } from '../fakes/webhookReceiver.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import { eventually, startTestService, type TestService, type TestServiceOptions } from '../harness/testService.ts';
import {
  createDefaultEndpoint,
  createTestEndpoint,
  deliverDue,
  endAttempts,
  insertDeliveries,
  readDeliveries,
  readEndpoint,
  type TestEndpoint,
} from '../harness/webhookFixture.ts';

const DAY_MS = 86_400_000;

const running: { stop(): Promise<void> }[] = [];

/** Stops what a test has started, also if it failed: the next one starts a service in this process. */
async function stopRunning(): Promise<void> {
  for (const part of running.splice(0)) await part.stop();
}

/** Starts a service, a receiver, and a customer with endpoints at `/1`, `/2` and so on. */
async function startWithEndpoints(count: number, options: TestServiceOptions) {
  const receiver = await new WebhookReceiver().start();
  const service = await startTestService({ ...options, env: { WEBHOOK_ADDRESSES: 'any' } });
  running.push(service, receiver);
  const endpoints: (TestEndpoint & { path: string })[] = [];
  let customer: TestCustomer | undefined;
  for (let n = 0; n < count; n += 1) {
    // An account has at most ten endpoints.
    if (n % 10 === 0) customer = await service.createCustomer('pro');
    const path = `/${n + 1}`;
    endpoints.push({ ...(await createTestEndpoint(service, customer!, receiver.url + path)), path });
  }
  return { receiver, service, endpoints, customer: customer! };
}

const isDelivered = async (service: TestService, { id }: TestEndpoint, count: number) => {
  const deliveries = await readDeliveries(service, id);
  return deliveries.length === count && deliveries.every(({ status }) => status === 'succeeded');
};

describe('webhook endpoints that do not respond', () => {
  afterEach(stopRunning);

  it('do not delay the deliveries to others', async () => {
    const { receiver, service, endpoints } = await startWithEndpoints(40, { workers: 0 });
    const hanging = endpoints.slice(0, 20);
    const healthy = endpoints.slice(20);
    for (const { path } of hanging) receiver.behaviours.set(path, 'hang');
    for (const { id } of endpoints) await insertDeliveries(service, id, 20);
    const startedAt = performance.now();
    await deliverWebhooks();
    await eventually('delivered to all that respond', () =>
      healthy.every(({ path }) => receiver.at(path).length >= 20),
    );
    const times = healthy.flatMap(({ path }) => receiver.at(path).map(({ at }) => at - startedAt));
    // Long before the first attempt at one of the others has ended.
    expect(quantile(times, 0.99)).to.be.below((2 / 3) * WEBHOOK_ATTEMPT_TIMEOUT_MS);
    // Each of the others holds one connection until its first attempt has failed.
    for (const { path } of hanging) expect(receiver.at(path)).to.have.length(1);
    for (const { path, ...endpoint } of healthy) {
      await eventually('all are recorded', () => isDelivered(service, endpoint, 20));
      expect(receiver.peaks.get(path)).to.be.most(WEBHOOK_CONCURRENCY);
    }
    await endAttempts(receiver);
  });

  it('leave attempts to others if they are those of 26 accounts, and were quick before', async () => {
    const { receiver, service, endpoints } = await startWithEndpoints(260, { workers: 0 });
    for (const { id, path } of endpoints) {
      receiver.behaviours.set(path, 'hang');
      await insertDeliveries(service, id, WEBHOOK_CONCURRENCY);
    }
    await service.sql('UPDATE webhook_endpoints SET concurrency = $1', [WEBHOOK_CONCURRENCY]);
    await deliverWebhooks();
    const other = await createTestEndpoint(service, await service.createCustomer('pro'), `${receiver.url}/other`);
    await insertDeliveries(service, other.id);
    const startedAt = performance.now();
    await deliverWebhooks();
    await eventually('delivered to the other', () => receiver.at('/other').length === 1);
    expect(performance.now() - startedAt).to.be.below((2 / 3) * WEBHOOK_ATTEMPT_TIMEOUT_MS);
    await endAttempts(receiver);
  });

  it('do not delay others of the same account that are the webhook_url of generations', async () => {
    const { receiver, service, customer } = await startWithEndpoints(1, { workers: 0 });
    const { id } = await createDefaultEndpoint(service, customer);
    receiver.behaviours.set('/hanging', 'hang');
    await insertDeliveries(service, id, 1, `${receiver.url}/hanging`);
    await insertDeliveries(service, id, 10, `${receiver.url}/good`);
    const startedAt = performance.now();
    await deliverWebhooks();
    await eventually('delivered to the other', () => receiver.at('/good').length === 10);
    expect(performance.now() - startedAt).to.be.below((2 / 3) * WEBHOOK_ATTEMPT_TIMEOUT_MS);
    await endAttempts(receiver);
  });
});

describe('several workers that deliver webhooks', () => {
  afterEach(stopRunning);

  it('share the limit of attempts at a time to one endpoint', async () => {
    const { receiver, service, endpoints } = await startWithEndpoints(10, { workers: 3, spawn: 'workers' });
    for (let round = 0; round < 5; round += 1) {
      for (const { id } of endpoints) await insertDeliveries(service, id, 40);
      await delay(200);
    }
    for (const endpoint of endpoints) {
      await eventually('all are delivered', () => isDelivered(service, endpoint, 200), 60_000);
      expect(receiver.at(endpoint.path)).to.have.length(200);
      expect(new Set(receiver.at(endpoint.path).map(({ id }) => id)).size).to.equal(200);
      expect(receiver.peaks.get(endpoint.path)).to.be.most(WEBHOOK_CONCURRENCY);
      expect((await readDeliveries(service, endpoint.id)).every(({ attempts }) => attempts === 1)).to.equal(true);
    }
  });

  it('deliver again what a killed worker had in progress, with the same id', async () => {
    const { receiver, service, endpoints } = await startWithEndpoints(1, { workers: 0 });
    const [endpoint] = endpoints;
    const worker = await service.startWorker();
    receiver.behaviours.set(endpoint!.path, 'hang');
    await insertDeliveries(service, endpoint!.id);
    await eventually('the first attempt has arrived', () => receiver.at(endpoint!.path).length === 1, 60_000);
    await worker.kill();
    receiver.behaviours.clear();
    await service.startWorker();
    await delay(2_000);
    // The lease has not expired.
    expect(receiver.at(endpoint!.path)).to.have.length(1);
    await service.moveClockTo(new Date(service.now.getTime() + 31_000));
    await eventually('it is delivered', () => isDelivered(service, endpoint!, 1), 60_000);
    const [first, second] = receiver.at(endpoint!.path);
    expect(second!.id).to.equal(first!.id);
    expect(second!.timestamp).to.be.above(first!.timestamp);
  });

  it('end within seconds, and leave an attempt in progress to another one', async () => {
    const { receiver, service, endpoints } = await startWithEndpoints(1, { workers: 0 });
    const [endpoint] = endpoints;
    const worker = await service.startWorker();
    receiver.behaviours.set(endpoint!.path, 'hang');
    await insertDeliveries(service, endpoint!.id);
    await eventually('the attempt has arrived', () => receiver.at(endpoint!.path).length === 1, 60_000);
    const startedAt = performance.now();
    await worker.stop();
    expect(performance.now() - startedAt).to.be.below(scaleTimeout(12_000));
    const { next_delivery_at: next } = await readEndpoint(service, endpoint!.id);
    expect(next!.getTime()).to.be.most(service.now.getTime());
    const [delivery] = await readDeliveries(service, endpoint!.id);
    expect(delivery).to.include({ status: 'pending', attempts: 0, leased_until: null, leased_by: null });
  });
});

describe('the rotation of a webhook secret under load', () => {
  afterEach(stopRunning);

  it('signs with the new secret soon, also what was read before it for a slow receiver', async () => {
    const { receiver, service, endpoints, customer } = await startWithEndpoints(1, { workers: 0 });
    const { path, id, uuid, secret: old } = endpoints[0]!;
    receiver.behaviours.set(path, 'slow');
    await insertDeliveries(service, id, 15);
    await deliverWebhooks();
    await eventually('the first one has arrived', () => receiver.at(path).length === 1);
    const rotated = await customer.request('POST', `/api/webhooks/${uuid}/rotate-secret/`);
    await deliverDue();
    const received = receiver.at(path);
    expect(received).to.have.length(15);
    expect(received.every((webhook) => isSignedWith(old, webhook))).to.equal(true);
    expect(received.slice(-5).every((webhook) => isSignedWith(rotated.body.secret, webhook))).to.equal(true);
  });

  it('leaves every message with a valid signature of the old secret for 24 hours, and of the new one after that', async () => {
    const { receiver, service, endpoints, customer } = await startWithEndpoints(1, {});
    const [endpoint] = endpoints;
    const { path, id, uuid, secret: old } = endpoint!;
    const loading = new AbortController();
    const load = (async () => {
      while (!loading.signal.aborted) {
        await insertDeliveries(service, id, 5);
        await deliverWebhooks();
        await delay(20);
      }
    })();
    await eventually('some have arrived', () => receiver.at(path).length >= 20);
    const rotated = await customer.request('POST', `/api/webhooks/${uuid}/rotate-secret/`);
    expect(rotated.status).to.equal(200);
    const current = rotated.body.secret as string;
    const before = receiver.at(path).length;
    await eventually('more have arrived', () => receiver.at(path).length >= before + 100);
    loading.abort();
    await load;
    await eventually('all are delivered', async () => (await readEndpoint(service, id)).next_delivery_at === null);
    const during = receiver.at(path);
    expect(during.every((webhook) => isSignedWith(old, webhook))).to.equal(true);
    const signedWithNew = during.map((webhook) => isSignedWith(current, webhook));
    expect(signedWithNew.slice(-20).every(Boolean)).to.equal(true);
    expect(signedWithNew[0]).to.equal(false);

    await service.moveClockTo(new Date(service.now.getTime() + DAY_MS + 1_000));
    await insertDeliveries(service, id, 20);
    await deliverWebhooks();
    await eventually('the last ones have arrived', () => receiver.at(path).length === during.length + 20);
    for (const webhook of receiver.at(path).slice(-20)) {
      expect(isSignedWith(current, webhook)).to.equal(true);
      expect(isSignedWith(old, webhook)).to.equal(false);
    }
  });
});
