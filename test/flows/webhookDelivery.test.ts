import { createServer } from 'node:net';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { failDeliveriesOfDisabledEndpoints } from '../../shared/domain/webhooks/endpointState.ts';
import { VERSION } from '../../shared/spec/version.ts';
import { WEBHOOK_RETRY_DELAYS_MS, WEBHOOK_RETRY_JITTER } from '../../shared/spec/webhookDelivery.ts';
import {
  isSignedWith,
  isSignedByPublicKey,
  type ReceiverBehaviour,
  WebhookReceiver,
} from '../fakes/webhookReceiver.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import { startTestService, type TestService } from '../harness/testService.ts';
import {
  createDefaultEndpoint,
  createTestEndpoint,
  deliverDue,
  insertDeliveries,
  moveClockAfter,
  readDeliveries,
  readEndpoint,
  type TestEndpoint,
} from '../harness/webhookFixture.ts';

const DAY_MS = 86_400_000;

describe('the delivery of a webhook', () => {
  let service: TestService;
  let receiver: WebhookReceiver;
  let customer: TestCustomer;
  before(async () => {
    receiver = await new WebhookReceiver().start();
    // No worker: the tests deliver themselves, so that they decide when.
    service = await startTestService({
      workers: 0,
      env: { WEBHOOK_ADDRESSES: 'any', SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'no-reply@example.com' },
    });
  });
  after(async () => {
    await service.stop();
    await receiver.stop();
  });
  beforeEach(async () => {
    // Endpoints of other tests, whose deliveries become due when the clock moves, accept them.
    receiver.behaviours.clear();
    customer = await service.createCustomer('pro');
  });

  let paths = 0;
  async function createReceiving(behaviour: ReceiverBehaviour = 'accept'): Promise<TestEndpoint & { path: string }> {
    paths += 1;
    const path = `/hook/${paths}`;
    receiver.behaviours.set(path, behaviour);
    return { ...(await createTestEndpoint(service, customer, `${receiver.url}${path}`)), path };
  }

  /** Delivers one webhook to an endpoint. @returns the row of its delivery. */
  async function deliverOne(endpoint: { id: number }, url: string | null = null) {
    await insertDeliveries(service, endpoint.id, 1, url);
    await deliverDue();
    const [delivery] = (await readDeliveries(service, endpoint.id)).slice(-1);
    return delivery!;
  }

  it('posts the body with an id, a time and signatures that the official library accepts', async () => {
    const endpoint = await createReceiving();
    const delivery = await deliverOne(endpoint);
    const [webhook] = receiver.at(endpoint.path);
    const { headers, body, id, timestamp } = webhook!;
    expect(JSON.parse(body)).to.include({ type: 'webhook.test' });
    expect(id).to.equal(`msg_${delivery.event_uuid}`);
    expect(Math.abs(timestamp * 1_000 - Date.now())).to.be.below(60_000);
    expect(headers).to.include({ 'content-type': 'application/json', 'user-agent': `genmeter/${VERSION}` });
    expect(() => new Webhook(endpoint.secret).verify(body, headers)).not.to.throw();
    expect(isSignedByPublicKey(endpoint.publicKey, webhook!)).to.equal(true);
    expect(delivery).to.include({ status: 'succeeded', attempts: 1, last_status: 204, last_error: null });
    expect(delivery.leased_until).to.equal(null);
    expect(await readEndpoint(service, endpoint.id)).to.include({ next_delivery_at: null, failing_since: null });
  });

  const FAILURES: [ReceiverBehaviour, number | null, string][] = [
    [500, 500, 'status 500'],
    [404, 404, 'status 404'],
    [{ status: 302, headers: { location: '/hook/elsewhere' } }, 302, 'redirect'],
    ['reset', null, 'reset'],
    ['garbage', null, 'invalid response'],
  ];
  for (const [behaviour, status, error] of FAILURES) {
    it(`is repeated after 5 s if the receiver responds with ${JSON.stringify(behaviour)}`, async () => {
      const endpoint = await createReceiving(behaviour);
      const before = service.now.getTime();
      const delivery = await deliverOne(endpoint);
      expect(delivery).to.include({ status: 'pending', attempts: 1, last_status: status, last_error: error });
      expect(delivery.next_attempt_at!.getTime() - before).to.be.within(5_000, 5_500 + scaleTimeout(5_000));
      const { failing_since: failingSince, next_delivery_at: nextDeliveryAt } = await readEndpoint(
        service,
        endpoint.id,
      );
      expect(failingSince).to.be.instanceOf(Date);
      expect(nextDeliveryAt).to.deep.equal(delivery.next_attempt_at);
      receiver.behaviours.set(endpoint.path, 'accept');
      await moveClockAfter(service, delivery.next_attempt_at!);
      await deliverDue();
      const [repeated] = await readDeliveries(service, endpoint.id);
      expect(repeated).to.include({ status: 'succeeded', attempts: 2, last_error: null });
      expect(new Set(receiver.at(endpoint.path).map(({ id }) => id)).size).to.equal(1);
      expect(await readEndpoint(service, endpoint.id)).to.include({ failing_since: null, next_delivery_at: null });
      expect(receiver.at('/hook/elsewhere')).to.deep.equal([]);
    });
  }

  it('stores the latest 20 attempts with what was sent and the beginning of the response, which the API returns', async () => {
    const endpoint = await createReceiving({ status: 500, body: 'é'.repeat(2_000) });
    await insertDeliveries(service, endpoint.id);
    const readDetails = async () => {
      const [{ uuid }] = await service.sql('SELECT uuid FROM webhook_deliveries WHERE endpoint_id = $1', [endpoint.id]);
      return (await customer.request('GET', `/api/webhooks/${endpoint.uuid}/deliveries/${uuid}/`)).body;
    };
    await deliverDue();
    const first = await readDetails();
    const [webhook] = receiver.at(endpoint.path);
    expect(first).to.include({ body: webhook!.body, last_status: 500, attempts: 1 });
    const [attempt] = first.attempt_log;
    expect(first.attempt_log).to.have.length(1);
    expect(attempt).to.include({
      status: 500,
      error: 'status 500',
      signature: webhook!.headers['webhook-signature'],
      response_body: 'é'.repeat(512),
      response_is_binary: false,
    });
    expect(attempt.duration_ms).to.equal(first.last_duration_ms).and.be.within(0, scaleTimeout(5_000));
    expect(Math.floor(Date.parse(attempt.sent_at) / 1_000)).to.equal(webhook!.timestamp);

    for (const [body, stored, isBinary] of [
      [`x${'é'.repeat(600)}`, `x${'é'.repeat(511)}`, false],
      [Buffer.from([0xff, 0xd8, 0xff]), null, true],
      ['a\u0000b', null, true],
      [undefined, null, false],
    ] as const) {
      receiver.behaviours.set(endpoint.path, { status: 503, ...(body === undefined ? {} : { body }) });
      await service.sql(`UPDATE webhook_deliveries SET attempts = 1, next_attempt_at = $2 WHERE endpoint_id = $1`, [
        endpoint.id,
        service.now,
      ]);
      await service.sql('UPDATE webhook_endpoints SET next_delivery_at = $2 WHERE id = $1', [endpoint.id, service.now]);
      await deliverDue();
      const { attempt_log: log } = await readDetails();
      expect(log.at(-1)).to.include({ status: 503, response_body: stored, response_is_binary: isBinary });
    }
    await service.sql(
      `UPDATE webhook_deliveries SET next_attempt_at = $2,
              attempt_log = jsonb_build_array(${Array(20).fill('attempt_log -> 0').join(', ')})
        WHERE endpoint_id = $1`,
      [endpoint.id, service.now],
    );
    await service.sql('UPDATE webhook_endpoints SET next_delivery_at = $2 WHERE id = $1', [endpoint.id, service.now]);
    await deliverDue();
    const { attempt_log: log } = await readDetails();
    expect(log.map(({ status }: { status: number }) => status)).to.deep.equal([...Array(19).fill(500), 503]);
  });

  it('reports a closed port, and a port without TLS', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    const closed = await createTestEndpoint(service, customer, `http://127.0.0.1:${port}/`);
    expect(await deliverOne(closed)).to.include({ last_status: null, last_error: 'connection refused' });
    const plain = await createTestEndpoint(service, customer, receiver.url.replace('http:', 'https:'));
    expect(await deliverOne(plain)).to.include({ last_status: null, last_error: 'TLS' });
  });

  for (const behaviour of ['large body', 'endless body', 'hanging body'] as const) {
    it(`succeeds without reading a response with a ${behaviour}`, async () => {
      const endpoint = await createReceiving(behaviour);
      const startedAt = performance.now();
      expect(await deliverOne(endpoint)).to.include({ status: 'succeeded', last_status: 200 });
      expect(performance.now() - startedAt).to.be.below(scaleTimeout(5_000));
    });
  }

  it('fails after 15 s without a status, also if headers arrive slowly', async () => {
    const hanging = await createReceiving('hang');
    const slow = await createReceiving('slow headers');
    await insertDeliveries(service, hanging.id);
    await insertDeliveries(service, slow.id);
    const startedAt = performance.now();
    await deliverDue();
    expect(performance.now() - startedAt).to.be.within(14_900, 16_000 + scaleTimeout(5_000));
    for (const { id } of [hanging, slow]) {
      const [delivery] = await readDeliveries(service, id);
      expect(delivery).to.include({ status: 'pending', attempts: 1, last_status: null, last_error: 'timeout' });
    }
  });

  it('heeds Retry-After in seconds or as a date, up to a day', async () => {
    const waits: [() => string, number][] = [
      [() => '3600', 3_600_000],
      [() => new Date(service.now.getTime() + 7_200_000).toUTCString(), 7_200_000],
      [() => '9999999', DAY_MS],
      [() => '1', 5_000],
      [() => 'soon', 5_000],
    ];
    for (const [buildHeader, waitMs] of waits) {
      const header = buildHeader();
      const endpoint = await createReceiving({ status: 429, headers: { 'retry-after': header } });
      const before = service.now.getTime();
      const { next_attempt_at: next } = await deliverOne(endpoint);
      expect(next!.getTime() - before, header).to.be.within(
        waitMs - scaleTimeout(2_000),
        waitMs * 1.1 + scaleTimeout(5_000),
      );
    }
  });

  it('is repeated on the documented schedule with the same id, and fails after the tenth attempt', async () => {
    const endpoint = await createReceiving(503);
    await insertDeliveries(service, endpoint.id);
    for (const [index, delayMs] of WEBHOOK_RETRY_DELAYS_MS.entries()) {
      await deliverDue();
      const [delivery] = await readDeliveries(service, endpoint.id);
      expect(delivery).to.include({ status: 'pending', attempts: index + 1 });
      const waitMs = delivery!.next_attempt_at!.getTime() - delivery!.last_attempt_at!.getTime();
      expect(waitMs).to.be.within(delayMs - 1_000, delayMs * (1 + WEBHOOK_RETRY_JITTER) + scaleTimeout(2_000));
      await moveClockAfter(service, delivery!.next_attempt_at!);
    }
    await deliverDue();
    const [failed] = await readDeliveries(service, endpoint.id);
    expect(failed).to.include({ status: 'failed', attempts: 10, next_attempt_at: null, last_status: 503 });
    const webhooks = receiver.at(endpoint.path);
    expect(webhooks).to.have.length(10);
    expect(new Set(webhooks.map(({ id }) => id)).size).to.equal(1);
    expect(webhooks.every((webhook) => isSignedWith(endpoint.secret, webhook))).to.equal(true);
    expect(webhooks[9]!.timestamp - webhooks[0]!.timestamp).to.be.above(3 * 86_400);
  });

  const readDisabledEvents = () =>
    service.sql(
      `SELECT details FROM outbox_events v JOIN accounts a ON a.id = v.account_id
        WHERE a.email = $1 AND v.type = 'webhook.disabled'`,
      [customer.email],
    );
  const readWebhookCount = async () =>
    (await service.sql('SELECT webhook_count FROM accounts WHERE email = $1', [customer.email]))[0].webhook_count;

  it('disables the endpoint when the receiver responds with 410', async () => {
    const endpoint = await createReceiving(410);
    await createReceiving();
    await insertDeliveries(service, endpoint.id, 3);
    await deliverDue();
    expect(await readEndpoint(service, endpoint.id)).to.include({ disabled_reason: 'gone', next_delivery_at: null });
    const deliveries = await readDeliveries(service, endpoint.id);
    expect(deliveries.map(({ status, last_error: error }) => [status, error])).to.deep.equal([
      ['failed', 'status 410'],
      ['failed', 'endpoint_disabled'],
      ['failed', 'endpoint_disabled'],
    ]);
    expect(receiver.at(endpoint.path)).to.have.length(1);
    expect(await readWebhookCount()).to.equal(1);
    const details = { endpoint: endpoint.uuid, url: endpoint.url, reason: 'gone' };
    expect(await readDisabledEvents()).to.deep.equal([{ details }]);
  });

  it('disables the endpoint after five days in which every attempt failed, and not earlier', async () => {
    const endpoint = await createReceiving(500);
    await deliverOne(endpoint);
    const { failing_since: since } = await readEndpoint(service, endpoint.id);
    await service.moveClockTo(new Date(since!.getTime() + 5 * DAY_MS - 60_000));
    await deliverOne(endpoint);
    expect((await readEndpoint(service, endpoint.id)).disabled_at).to.equal(null);
    await service.moveClockTo(new Date(since!.getTime() + 5 * DAY_MS));
    await deliverOne(endpoint);
    expect(await readEndpoint(service, endpoint.id)).to.include({ disabled_reason: 'failing', next_delivery_at: null });
    const deliveries = await readDeliveries(service, endpoint.id);
    expect(deliveries.map(({ status }) => status)).to.deep.equal(['failed', 'failed', 'failed']);
    expect(await readWebhookCount()).to.equal(0);
    expect(await readDisabledEvents()).to.have.length(1);
  });

  it('fails deliveries that were created while the endpoint was disabled', async () => {
    const endpoint = await createReceiving();
    await customer.request('PATCH', `/api/webhooks/${endpoint.uuid}/`, { body: { enabled: false } });
    await deliverOne(endpoint);
    await failDeliveriesOfDisabledEndpoints();
    const [delivery] = await readDeliveries(service, endpoint.id);
    expect(delivery).to.include({ status: 'failed', last_error: 'endpoint_disabled' });
    expect(receiver.at(endpoint.path)).to.deep.equal([]);
  });

  it('never disables the default endpoint, and delivers to the address of each generation', async () => {
    const { path: gone } = await createReceiving(410);
    const { path: good } = await createReceiving();
    const endpoint = await createDefaultEndpoint(service, customer);
    await insertDeliveries(service, endpoint.id, 1, `${receiver.url}${gone}`);
    await insertDeliveries(service, endpoint.id, 1, `${receiver.url}${good}`);
    await deliverDue();
    await deliverDue();
    const deliveries = await readDeliveries(service, endpoint.id);
    expect(deliveries.map(({ status, last_status: code }) => [status, code])).to.deep.equal([
      ['failed', 410],
      ['succeeded', 204],
    ]);
    expect(isSignedWith(endpoint.secret, receiver.at(good)[0]!)).to.equal(true);
    expect(await readEndpoint(service, endpoint.id)).to.include({ disabled_at: null, failing_since: null });
  });
});

describe('the delivery of a webhook to a private address', () => {
  it('fails without a connection', async () => {
    const receiver = await new WebhookReceiver().start();
    const service = await startTestService({ workers: 0 });
    const customer = await service.createCustomer('pro');
    const endpoint = await createTestEndpoint(service, customer, 'https://example.com/');
    for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]', '2130706433']) {
      const url = receiver.url.replace('127.0.0.1', host);
      await service.sql('UPDATE webhook_endpoints SET url = $2 WHERE id = $1', [endpoint.id, url]);
      await insertDeliveries(service, endpoint.id);
      await deliverDue();
      const [delivery] = (await readDeliveries(service, endpoint.id)).slice(-1);
      expect(delivery, host).to.include({ status: 'pending', last_status: null, last_error: 'private address' });
    }
    expect(receiver.received).to.deep.equal([]);
    await service.stop();
    await receiver.stop();
  });
});
