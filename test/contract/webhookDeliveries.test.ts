import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { type ApiResponse, IMAGE, type TestCustomer } from '../harness/apiClient.ts';
import { countOccurrences, expectError } from '../harness/errorEnvelope.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { ENDPOINT_URL, readEndpointByUuid, requestEndpoint, useWebhookService } from '../harness/webhookFixture.ts';
import { dispatchEvents } from '../harness/tasks.ts';

const RECEIVER = 'https://receiver.example/webhooks?source=genmeter';

describe('webhook deliveries, secrets and single addresses', () => {
  const service = useWebhookService();
  let customer: TestCustomer;
  beforeEach(async () => {
    customer = await service.createCustomer(null);
  });

  const createOne = async (body: object = {}) => (await requestEndpoint(customer, body)).body;
  const readRow = (uuid: string) => readEndpointByUuid(service, uuid);

  it('a rotation returns another secret and keeps the former keys for 24 hours', async () => {
    const created = await createOne();
    const before = await readRow(created.uuid);
    const rotate = (headers = {}) =>
      customer.request('POST', `/api/webhooks/${created.uuid}/rotate-secret/`, { headers });
    const { status, body } = await rotate();
    expect(status).to.equal(200);
    expect([body.secret === created.secret, body.public_key === created.public_key]).to.deep.equal([false, false]);
    const first = await readRow(created.uuid);
    expect([first.previous_secret, first.previous_private_key]).to.deep.equal([before.secret, before.private_key]);
    expect(first.previous_until.getTime() - first.updated_at.getTime()).to.equal(24 * 3_600_000);

    await rotate();
    expect((await readRow(created.uuid)).previous_secret).to.equal(first.secret);
    // A repetition after a lost response must not end the keys that are in use.
    const headers = { 'idempotency-key': randomUUID() };
    const answers = [await rotate(headers), await rotate(headers)];
    expect(answers[1]?.body).to.deep.equal(answers[0]?.body);
    expect(answers[1]?.headers.get('idempotent-replayed')).to.equal('true');
  });

  it('an event reaches the endpoints that were enabled when it happened, and none that was created or enabled later', async () => {
    const enable = (uuid: string, enabled: boolean) =>
      customer.request('PATCH', `/api/webhooks/${uuid}/`, { body: { enabled } });
    const [present, off, paused] = [await createOne(), await createOne(), await createOne()];
    await enable(off.uuid, false);
    await enable(paused.uuid, false);
    await enable(paused.uuid, true);
    await customer.request('POST', '/api/keys/create/', { body: { name: 'an event' } });
    const late = await createOne();
    await enable(off.uuid, true);
    await dispatchEvents();
    const counts = await Promise.all(
      [present, paused, off, late].map(async ({ uuid }) => {
        const { body } = await customer.request('GET', `/api/webhooks/${uuid}/deliveries/`);
        return body.data.filter(({ type }: { type: string }) => type === 'key.created').length;
      }),
    );
    expect(counts).to.deep.equal([1, 1, 0, 0]);
  });

  it('a test event is recorded as dispatched, with the endpoint as its data, and makes the endpoint due', async () => {
    const { secret: _, ...endpoint } = await createOne({ events: ['key.created'] });
    const { status, body } = await customer.request('POST', `/api/webhooks/${endpoint.uuid}/test/`);
    expect(status).to.equal(200);
    expect(body).to.include({
      type: 'webhook.test',
      url: ENDPOINT_URL,
      status: 'pending',
      attempts: 0,
      last_error: null,
    });
    const [event] = await service.sql('SELECT * FROM outbox_events WHERE uuid = $1', [body.event_uuid]);
    expect(event.dispatched_at).to.be.an.instanceOf(Date);
    expect(JSON.parse(event.body)).to.deep.equal({
      type: 'webhook.test',
      timestamp: event.created_at.toISOString(),
      data: endpoint,
    });
    expect((await readRow(endpoint.uuid)).next_delivery_at.toISOString()).to.equal(body.next_attempt_at);
    expect((await customer.request('GET', `/api/webhooks/${endpoint.uuid}/deliveries/`)).body.data).to.deep.equal([
      body,
    ]);
  });

  it('deliveries are listed newest first, by page and by status', async () => {
    const { uuid } = await createOne();
    for (let count = 0; count < 22; count += 1) await customer.request('POST', `/api/webhooks/${uuid}/test/`);
    await service.sql(
      `UPDATE webhook_deliveries d SET status = 'succeeded', next_attempt_at = NULL, delivered_at = now(), last_status = 204
         FROM webhook_endpoints w WHERE w.id = d.endpoint_id AND w.uuid = $1 AND d.id % 2 = 0`,
      [uuid],
    );
    const path = `/api/webhooks/${uuid}/deliveries/`;
    const { pagination, data } = (await customer.request('GET', path)).body;
    expect(pagination).to.deep.equal({
      next: `${service.baseUrl}${path}?page=2`,
      previous: null,
      current_page: 1,
      total_pages: 2,
      total_items: 22,
    });
    expect(data.map((one: { status: string }) => one.status).slice(0, 2)).to.have.members(['pending', 'succeeded']);
    const second = (await customer.request('GET', `${path}?page=2`)).body.data;
    const all = [...data, ...second].map((one: { created_at: string }) => one.created_at);
    expect(all)
      .to.have.lengthOf(22)
      .and.deep.equal([...all].sort().toReversed());
    const succeeded = (await customer.request('GET', `${path}?status=succeeded`)).body;
    expect(succeeded.pagination.total_items).to.equal(11);
    expect(succeeded.data[0]).to.include({ status: 'succeeded', last_status: 204, next_attempt_at: null });
    expect((await customer.request('GET', `${path}?status=failed`)).body.pagination.total_items).to.equal(0);
    expect((await customer.request('GET', `${path}?type=webhook.test`)).body.pagination.total_items).to.equal(22);
    expect((await customer.request('GET', `${path}?type=credits.low`)).body.pagination.total_items).to.equal(0);
    expectError(await customer.request('GET', `${path}?type=unknown`), 'validation_error', 'type');
    expectError(await customer.request('GET', `${path}?status=sent`), 'validation_error', 'status');
    expectError(await customer.request('GET', `${path}?page=0`), 'validation_error', 'page');
  });

  it('a succeeded or failed delivery is delivered again under the same uuid, and a pending one is not', async () => {
    const { uuid } = await createOne();
    const { body: delivery } = await customer.request('POST', `/api/webhooks/${uuid}/test/`);
    const redeliver = (by = customer) =>
      by.request('POST', `/api/webhooks/${uuid}/deliveries/${delivery.uuid}/redeliver/`);
    expectError(await redeliver(), 'validation_error', 'pending');
    for (const end of [
      `status = 'failed', next_attempt_at = NULL, attempts = 10, last_status = 500`,
      `status = 'succeeded', next_attempt_at = NULL, attempts = 2, last_status = 200, delivered_at = now()`,
    ]) {
      await service.sql(`UPDATE webhook_deliveries SET ${end} WHERE uuid = $1`, [delivery.uuid]);
      await service.sql('UPDATE webhook_endpoints SET next_delivery_at = NULL WHERE uuid = $1', [uuid]);
      const answers = await Promise.all(
        Array.from({ length: 16 }, (_, index) => redeliver(customer.on(service.baseUrls[index % 2] as string))),
      );
      expect(countOccurrences(answers.map(({ status }) => status))).to.deep.equal({ 200: 1, 400: 15 });
      const { body } = answers.find(({ status }) => status === 200) as ApiResponse;
      expect(body).to.include({ uuid: delivery.uuid, event_uuid: delivery.event_uuid, status: 'pending', attempts: 0 });
      expect(body.delivered_at).to.equal(null);
      expect((await readRow(uuid)).next_delivery_at.toISOString()).to.equal(body.next_attempt_at);
    }
    const unknown = `/api/webhooks/${uuid}/deliveries/${randomUUID()}/redeliver/`;
    expectError(await customer.request('POST', unknown), 'not_found', 'delivery');
    expectError(await customer.request('POST', `/api/webhooks/${uuid}/deliveries/5/redeliver/`), 'not_found');
  });

  it('a delivery is found under its own endpoint only', async () => {
    const [one, other] = [await createOne(), await createOne()];
    const { body: delivery } = await customer.request('POST', `/api/webhooks/${one.uuid}/test/`);
    expectError(
      await customer.request('POST', `/api/webhooks/${other.uuid}/deliveries/${delivery.uuid}/redeliver/`),
      'not_found',
    );
  });

  it('the default secret is created once, stays the same, and is not listed as an endpoint', async () => {
    const read = (by = customer) => by.requestWithSession('GET', '/api/webhooks/default/secret/');
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) => read(customer.on(service.baseUrls[index % 2] as string))),
    );
    const [{ body }] = answers as [ApiResponse];
    expect(body).to.have.all.keys('uuid', 'secret', 'public_key');
    for (const answer of answers) expect([answer.status, answer.body]).to.deep.equal([200, body]);
    expect((await customer.request('GET', '/api/webhooks/')).body.data).to.deep.equal([]);
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', 'rotate-secret/'],
      ['POST', 'test/'],
    ] as const) {
      expectError(await customer.request(method, `/api/webhooks/${body.uuid}/${path}`), 'not_found');
    }
    expect((await customer.request('GET', `/api/webhooks/${body.uuid}/deliveries/`)).body.data).to.deep.equal([]);

    const rotated = await customer.requestWithSession('POST', '/api/webhooks/default/rotate-secret/');
    expect(rotated.body.uuid).to.equal(body.uuid);
    expect(rotated.body.secret).to.not.equal(body.secret);
    expect((await read()).body).to.deep.equal(rotated.body);
  });

  it('a default secret that was encrypted with another SECRET_KEY must be rotated', async () => {
    const { uuid } = (await customer.requestWithSession('GET', '/api/webhooks/default/secret/')).body;
    // Encrypted for another row.
    const { uuid: other } = await createOne();
    await service.sql('UPDATE webhook_endpoints SET secret = $2 WHERE uuid = $1', [
      uuid,
      (await readRow(other)).secret,
    ]);
    const read = () => customer.requestWithSession('GET', '/api/webhooks/default/secret/');
    expectError(await read(), 'validation_error', 'Rotate');
    const { body } = await customer.requestWithSession('POST', '/api/webhooks/default/rotate-secret/');
    expect((await read()).body).to.deep.equal(body);
  });

  describe('webhook_url of a create', () => {
    let subscriber: TestCustomer;
    before(async () => {
      await setAllModelsOnline(service);
      subscriber = await service.createCustomer('studio');
    });

    const create = (body: object, key?: string) =>
      subscriber.request('POST', '/api/generations/create/', {
        body: { ...IMAGE, prompt: 'a lighthouse', ...body },
        headers: key === undefined ? {} : { 'idempotency-key': key },
      });

    it('is stored, and is not part of the generation that the API returns', async () => {
      const { status, body } = await create({ webhook_url: RECEIVER });
      expect(status).to.equal(201);
      expect(body).to.not.have.property('webhook_url');
      expect((await subscriber.readGeneration(body.uuid)).body).to.deep.equal(body);
      const [row] = await service.sql('SELECT webhook_url FROM generations WHERE uuid = $1', [body.uuid]);
      expect(row.webhook_url).to.equal(RECEIVER);
    });

    const invalid: Record<string, unknown> = {
      'not an address': 'receiver.example/webhooks',
      'of another protocol': 'ftp://receiver.example/',
      'with a user name and password': 'https://user:secret@receiver.example/',
      'longer than 2,000 characters': `https://receiver.example/${'a'.repeat(2_000)}`,
      'of a private network': 'http://169.254.169.254/latest/',
      empty: '',
      'a number': 5,
      null: null,
    };
    for (const [name, value] of Object.entries(invalid)) {
      it(`is rejected if it is ${name}, and nothing is charged`, async () => {
        const before = await subscriber.balance();
        const { status, body } = await create({ webhook_url: value });
        expect([status, body.error]).to.deep.equal([400, 'validation_error']);
        expect(body.detail).to.match(/^webhook_url must/);
        expect(body.detail).to.not.include('secret');
        expect(await subscriber.balance()).to.equal(before);
      });
    }

    it('is part of the comparison of requests with the same Idempotency-Key', async () => {
      const key = randomUUID();
      const first = await create({ webhook_url: RECEIVER }, key);
      const again = await create({ webhook_url: RECEIVER }, key);
      expect([again.status, again.body]).to.deep.equal([201, first.body]);
      for (const other of [{}, { webhook_url: `${RECEIVER}&other` }]) {
        const { status, body } = await create(other, key);
        expect([status, body.error]).to.deep.equal([400, 'validation_error']);
        expect(body.detail).to.include('Idempotency-Key');
      }
    });
  });
});
