import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { countOccurrences, expectError, expectTimestamp, UUID } from '../harness/errorEnvelope.ts';
import { ENDPOINT_URL, readEndpointByUuid, requestEndpoint, useWebhookService } from '../harness/webhookFixture.ts';

const NOT_FOUND = '/api/webhooks/00000000-0000-4000-8000-000000000000/';

describe('webhook endpoints', () => {
  const service = useWebhookService();
  let customer: TestCustomer;
  beforeEach(async () => {
    customer = await service.createCustomer(null);
  });
  afterEach('webhook_count is the number of enabled endpoints', async () => {
    const [row] = await service.sql(
      `SELECT a.webhook_count, (SELECT cast(count(*) AS int) FROM webhook_endpoints w
                                 WHERE w.account_id = a.id AND url IS NOT NULL AND disabled_at IS NULL) AS enabled
         FROM accounts a WHERE a.email = $1`,
      [customer.email],
    );
    expect(row.webhook_count).to.equal(row.enabled);
  });

  const create = (body: object = {}, by = customer) => requestEndpoint(by, body);
  const createOne = async (body: object = {}) => (await create(body)).body;
  const update = (uuid: string, body: object) => customer.request('PATCH', `/api/webhooks/${uuid}/`, { body });
  const list = async () => (await customer.request('GET', '/api/webhooks/')).body;
  const readRow = (uuid: string) => readEndpointByUuid(service, uuid);
  const listEvents = async () =>
    (
      await service.sql(
        `SELECT e.event, e.details FROM security_events e JOIN accounts a ON a.id = e.account_id
          WHERE a.email = $1 AND e.event LIKE 'webhook%' ORDER BY e.id`,
        [customer.email],
      )
    ).map(({ event, details }: { event: string; details: object }) => [event, details]);

  it('a created endpoint has its fields, and its secret in this response only', async () => {
    const { status, body } = await create({ events: ['key.created', 'key.created'], description: ' Production ' });
    expect(status).to.equal(201);
    const { uuid, secret, public_key: publicKey, created_at: createdAt, ...rest } = body;
    expect(uuid).to.match(UUID);
    expect(secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(publicKey).to.match(/^whpk_[A-Za-z0-9+/]{43}=$/);
    expectTimestamp(createdAt);
    expect(rest).to.deep.equal({
      url: ENDPOINT_URL,
      events: ['key.created'],
      description: 'Production',
      enabled: true,
      disabled_reason: null,
      failing_since: null,
    });
    const { secret: _, ...shown } = body;
    expect((await customer.request('GET', `/api/webhooks/${uuid}/`)).body).to.deep.equal(shown);
    expect((await list()).data).to.deep.equal([shown]);
    const [{ everything }] = await service.sql(
      'SELECT w::text AS everything FROM webhook_endpoints w WHERE uuid = $1',
      [uuid],
    );
    expect(everything).to.not.include(secret.slice(6)).and.to.not.include('whsk_');
  });

  it('an endpoint without events receives all types', async () => {
    expect((await createOne()).events).to.equal(null);
    expect((await createOne({ events: null })).events).to.equal(null);
  });

  it('events must be known types, and at least one', async () => {
    for (const events of [[], ['key.create'], ['webhook.test'], ['session.created'], 'key.created', [null], {}])
      expectError(await create({ events }), 'validation_error', 'events');
    expectError(await create({ url: 'https://127.0.0.1/' }), 'validation_error', 'url');
    expectError(await create({ description: 'x'.repeat(201) }), 'validation_error', 'description');
    expectError(await create({ enabled: false }), 'validation_error', 'enabled');
    expect((await list()).data).to.deep.equal([]);
  });

  it('an account has at most 10 endpoints; deleted ones do not count, disabled ones do', async () => {
    for (let count = 0; count < 10; count += 1) expect((await create()).status).to.equal(201);
    expectError(await create(), 'validation_error', '10');
    const [newest, next] = (await list()).data;
    await update(newest.uuid, { enabled: false });
    expectError(await create(), 'validation_error', '10');
    expect((await customer.request('DELETE', `/api/webhooks/${next.uuid}/`)).status).to.equal(204);
    expect((await create()).status).to.equal(201);
    expect((await list()).pagination).to.include({ total_items: 10, total_pages: 1 });
  });

  it('64 simultaneous requests to two processes create at most 10 endpoints', async () => {
    const responses = await Promise.all(
      Array.from({ length: 64 }, (_, index) => create({}, customer.on(service.baseUrls[index % 2] as string))),
    );
    expect(countOccurrences(responses.map(({ status }) => status))).to.deep.equal({ 201: 10, 400: 54 });
    expect((await list()).pagination.total_items).to.equal(10);
  });

  it('simultaneous changes of endpoints keep the number of enabled ones', async () => {
    const created = await Promise.all(Array.from({ length: 8 }, () => createOne()));
    await Promise.all([
      ...created.map(({ uuid }) => update(uuid, { enabled: false })),
      ...created.slice(0, 4).map(({ uuid }) => update(uuid, { enabled: true })),
      ...created.slice(2, 6).map(({ uuid }) => customer.request('DELETE', `/api/webhooks/${uuid}/`)),
      ...created.slice(4).map(() => create()),
    ]);
    expect((await list()).pagination.total_items).to.be.within(4, 10);
  });

  it('an update changes only the given fields', async () => {
    const { secret: _, ...before } = await createOne({ events: ['key.created'], description: 'One' });
    expect((await update(before.uuid, {})).body).to.deep.equal(before);
    const moved = { ...before, url: 'https://other.example/', description: '' };
    expect((await update(before.uuid, { url: moved.url, description: '' })).body).to.deep.equal(moved);
    expect((await update(before.uuid, { events: null })).body).to.deep.equal({ ...moved, events: null });
    for (const [field, body] of [
      ['url', { url: 'ftp://example.com' }],
      ['events', { events: [] }],
      ['enabled', { enabled: 'no' }],
      ['secret', { secret: 'whsec_x' }],
    ] as const) {
      expectError(await update(before.uuid, body), 'validation_error', field);
    }
    expect((await customer.request('GET', `/api/webhooks/${before.uuid}/`)).body.url).to.equal(moved.url);
  });

  it('a disabled endpoint has no pending deliveries, and is enabled again without its failures', async () => {
    const { uuid } = await createOne();
    const { body: delivery } = await customer.request('POST', `/api/webhooks/${uuid}/test/`);
    const disabled = (await update(uuid, { enabled: false })).body;
    expect([disabled.enabled, disabled.disabled_reason]).to.deep.equal([false, 'owner']);
    expect((await readRow(uuid)).next_delivery_at).to.equal(null);
    const path = `/api/webhooks/${uuid}/deliveries/`;
    const [failed] = (await customer.request('GET', path)).body.data;
    expect(failed).to.include({ status: 'failed', next_attempt_at: null, last_error: 'endpoint_disabled' });
    expectError(await customer.request('POST', `/api/webhooks/${uuid}/test/`), 'validation_error', 'disabled');
    expectError(await customer.request('POST', `${path}${delivery.uuid}/redeliver/`), 'validation_error', 'disabled');

    await service.sql(
      `UPDATE webhook_endpoints SET disabled_reason = 'failing', failing_since = now() - interval '5 days' WHERE uuid = $1`,
      [uuid],
    );
    const shown = (await customer.request('GET', `/api/webhooks/${uuid}/`)).body;
    expect(shown.disabled_reason).to.equal('failing');
    expectTimestamp(shown.failing_since);
    const enabled = (await update(uuid, { enabled: true })).body;
    expect(enabled).to.include({ enabled: true, disabled_reason: null, failing_since: null });
    expect((await customer.request('POST', `${path}${delivery.uuid}/redeliver/`)).body.status).to.equal('pending');
  });

  it('failures of a former address do not count for another one', async () => {
    const { uuid } = await createOne();
    await service.sql('UPDATE webhook_endpoints SET failing_since = now() WHERE uuid = $1', [uuid]);
    expect((await update(uuid, { url: ENDPOINT_URL })).body.failing_since).to.be.a('string');
    expect((await update(uuid, { url: `${ENDPOINT_URL}/2` })).body.failing_since).to.equal(null);
  });

  it('a deleted endpoint is gone, with its deliveries', async () => {
    const { uuid } = await createOne();
    await customer.request('POST', `/api/webhooks/${uuid}/test/`);
    const { id } = await readRow(uuid);
    const { status, body } = await customer.request('DELETE', `/api/webhooks/${uuid}/`);
    expect([status, body]).to.deep.equal([204, undefined]);
    expect(await service.sql('SELECT 1 FROM webhook_deliveries WHERE endpoint_id = $1', [id])).to.deep.equal([]);
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', 'rotate-secret/'],
      ['POST', 'test/'],
      ['GET', 'deliveries/'],
      ['POST', `deliveries/${randomUUID()}/redeliver/`],
    ] as const) {
      const gone = await customer.request(method, `/api/webhooks/${uuid}/${path}`);
      expectError(gone, 'not_found');
      expect((await customer.request(method, NOT_FOUND + path)).body).to.deep.equal(gone.body);
      expectError(await customer.request(method, `/api/webhooks/5/${path}`), 'not_found');
    }
  });

  it('an account that is being deleted gets no further endpoints', async () => {
    const setRequested = 'UPDATE accounts SET deletion_requested_at = $2 WHERE email = $1';
    await service.sql(setRequested, [customer.email, new Date()]);
    expectError(await create(), 'validation_error', 'being deleted');
    await service.sql(setRequested, [customer.email, null]);
  });

  it('the security log contains changes of endpoints with the host, and no path', async () => {
    const { uuid } = await createOne({ url: 'https://one.example/token-in-path' });
    await update(uuid, { description: 'not recorded' });
    await update(uuid, { url: 'https://two.example:8443/?token=1' });
    await customer.request('POST', `/api/webhooks/${uuid}/rotate-secret/`);
    await customer.request('DELETE', `/api/webhooks/${uuid}/`);
    await customer.requestWithSession('POST', '/api/webhooks/default/rotate-secret/');
    const [one, two] = [{ host: 'one.example' }, { host: 'two.example:8443' }];
    expect(await listEvents()).to.deep.equal([
      ['webhook_created', one],
      ['webhook_url_changed', two],
      ['webhook_secret_rotated', two],
      ['webhook_deleted', two],
      ['webhook_secret_rotated', {}],
    ]);
  });
});
