import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { TestCustomer, IMAGE, request } from '../harness/apiClient.ts';
import { eventually, useTestService } from '../harness/testService.ts';
import { expectError, expectTimestamp, countOccurrences, UUID } from '../harness/errorEnvelope.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';

const SECOND = `interval '1 second'`;

const createKey = (customer: TestCustomer, name = 'another') => createNamed(customer, name);
const createNamed = (customer: TestCustomer, name: unknown) =>
  customer.requestWithSession('POST', '/api/keys/create/', { body: { name } });
const listKeys = async (customer: TestCustomer) => (await customer.requestWithSession('GET', '/api/keys/')).body.data;
const requestWithKey = (customer: TestCustomer, key: string) =>
  new TestCustomer(customer.baseUrl, customer.email, customer.cookie, key);

describe('API keys', () => {
  const service = useTestService({ apis: 2, workers: 0 });
  before(() => setAllModelsOnline(service));

  const lastUse = async (uuid: string): Promise<Date | null> => {
    const [row] = await service.sql('SELECT last_used_at FROM api_keys WHERE uuid = $1', [uuid]);
    return row.last_used_at;
  };
  /** Uses a key for the first time and waits until last_used_at is set. */
  const used = async (customer: TestCustomer, api: { baseUrl: string }) => {
    expect((await customer.on(api.baseUrl).request('GET', '/api/keys/')).status).to.equal(200);
    const [{ uuid }] = await listKeys(customer);
    await eventually('its use is noted', async () => (await lastUse(uuid)) !== null);
  };

  it('a created key has uuid, name, key, prefix and created_at; the key is svc_ and 40 hex characters', async () => {
    const customer = await service.createCustomer(null);
    const { status, body } = await createKey(customer, ' laptop ');
    expect(status).to.equal(201);
    expect(body).to.have.all.keys('uuid', 'name', 'key', 'prefix', 'created_at');
    expect(body.uuid).to.match(UUID);
    expect(body.name).to.equal('laptop');
    expect(body.key).to.match(/^svc_[0-9a-f]{40}$/);
    expect(body.prefix).to.equal(body.key.slice(0, 12));
    expectTimestamp(body.created_at);
  });

  it('keys are shown once: lists contain the prefix, never the secret', async () => {
    const customer = await service.createCustomer(null);
    const { body: created } = await createKey(customer, 'laptop');
    const { body } = await customer.request('GET', '/api/keys/');
    expect(JSON.stringify(body)).to.not.include(created.key);
    expect(body.pagination.total_items).to.equal(2);
    expect(body.data[0]).to.deep.equal({
      uuid: created.uuid,
      name: 'laptop',
      prefix: created.prefix,
      last_used_at: null,
      revoked: false,
      created_at: created.created_at,
    });
  });

  it('keys are stored as a SHA-256 hash and a prefix only', async () => {
    const customer = await service.createCustomer(null);
    const { uuid, key, prefix } = (await createKey(customer)).body;
    const [row] = await service.sql('SELECT k.*, k::text AS everything FROM api_keys k WHERE uuid = $1', [uuid]);
    expect(row.key_hash.toString('hex')).to.equal(createHash('sha256').update(key).digest('hex'));
    expect(row.prefix).to.equal(prefix);
    expect(row.everything).to.not.include(key.slice(4 + 8));
  });

  it('keys are accepted as a bearer token and in X-API-Key, with all permissions of the account', async () => {
    const { key, baseUrl } = await service.createCustomer('lite');
    const ways: Record<string, string>[] = [
      { authorization: `Bearer ${key}` },
      { authorization: `bearer  ${key}` },
      { 'x-api-key': key },
    ];
    for (const headers of ways) {
      const { status, body } = await request(baseUrl, 'GET', '/api/usage/summary/', { headers });
      expect([status, body.plan?.slug], Object.keys(headers).join()).to.deep.equal([200, 'lite']);
    }
  });

  it('keys can be created, listed and revoked with a key or a session', async () => {
    const customer = await service.createCustomer(null);
    const { status, body } = await customer.request('POST', '/api/keys/create/', { body: { name: 'by key' } });
    expect(status).to.equal(201);
    const revoked = await customer.request('POST', `/api/keys/${body.uuid}/revoke/`);
    expect([revoked.status, revoked.body]).to.deep.equal([200, { revoked: true }]);
  });

  it('key names have 1 to 64 characters', async () => {
    const customer = await service.createCustomer(null);
    for (const name of ['x', 'x'.repeat(64), ` ${'x'.repeat(64)} `, '🔑'.repeat(64)]) {
      const { status, body } = await createKey(customer, name);
      expect([status, body.name]).to.deep.equal([201, name.trim()]);
    }
    for (const name of [
      '',
      ' ',
      'x'.repeat(65),
      '🔑'.repeat(65),
      undefined,
      null,
      5,
      true,
      ['x'],
      { x: 'x' },
      'a\u0000b',
      '\ud800',
    ]) {
      expectError(await createNamed(customer, name), 'validation_error', 'name');
    }
    expect((await customer.request('GET', '/api/keys/')).body.pagination.total_items).to.equal(5);
  });

  it('an account has at most 20 active keys; revoked ones do not count', async () => {
    const customer = await service.createCustomer(null);
    for (let count = 1; count < 20; count += 1)
      expect((await createKey(customer, `key ${count}`)).status).to.equal(201);
    expectError(await createKey(customer), 'validation_error', '20');
    const [newest] = await listKeys(customer);
    await customer.requestWithSession('POST', `/api/keys/${newest.uuid}/revoke/`);
    expect((await createKey(customer)).status).to.equal(201);
    expectError(await createKey(customer), 'validation_error', '20');
    const { pagination, data } = (await customer.requestWithSession('GET', '/api/keys/?page=2')).body;
    expect(pagination).to.include({ total_items: 21, total_pages: 2, next: null });
    expect(data).to.have.lengthOf(1);
  });

  it('100 simultaneous requests to two processes create at most 20 keys', async () => {
    const customer = await service.createCustomer(null);
    const ways = service.baseUrls.map((url) => customer.on(url));
    const responses = await Promise.all(
      Array.from({ length: 100 }, (_, index) => createKey(ways[index % 2] ?? customer)),
    );
    expect(countOccurrences(responses.map(({ status }) => status))).to.deep.equal({ 201: 19, 400: 81 });
    expect((await customer.request('GET', '/api/keys/')).body.pagination.total_items).to.equal(20);
  });

  it('revoking a key is permanent and can be repeated', async () => {
    const customer = await service.createCustomer(null);
    const { uuid } = (await createKey(customer)).body;
    for (let times = 0; times < 3; times += 1) {
      const { status, body } = await customer.requestWithSession('POST', `/api/keys/${uuid}/revoke/`);
      expect([status, body]).to.deep.equal([200, { revoked: true }]);
    }
    const ways = service.baseUrls.map((url) => requestWithKey(customer, customer.key).on(url));
    const { uuid: contested } = (await createKey(customer)).body;
    await Promise.all(ways.map((way) => way.request('POST', `/api/keys/${contested}/revoke/`)));
    expect((await listKeys(customer)).map((key: { revoked: boolean }) => key.revoked)).to.deep.equal([
      true,
      true,
      false,
    ]);
  });

  it('revoked keys stop working immediately on every process, even right after they were used', async () => {
    const customer = await service.createCustomer('pro');
    for (let round = 0; round < 5; round += 1) {
      const { uuid, key } = (await createKey(customer)).body;
      const ways = service.baseUrls.map((url) => requestWithKey(customer, key).on(url));
      const generation = await requestWithKey(customer, key).createGeneration(IMAGE);
      expect(generation.status).to.equal(201);
      for (const way of ways) expect((await way.request('GET', '/api/keys/')).status).to.equal(200);

      await customer.requestWithSession('POST', `/api/keys/${uuid}/revoke/`);
      const responses = await Promise.all(
        ways.flatMap((way) => [
          way.createGeneration(IMAGE),
          way.createGeneration({ model: 'no such model', params: {} }),
          way.readGeneration(generation.body.uuid),
          way.readGeneration('no-uuid'),
          way.request('DELETE', `/api/generations/${generation.body.uuid}/`),
          way.request('GET', '/api/keys/'),
          way.request('POST', '/api/keys/create/', { body: { name: 'by a dead key' } }),
          way.request('POST', `/api/keys/${uuid}/revoke/`),
          way.request('GET', '/api/usage/summary/'),
        ]),
      );
      for (const response of responses) expectError(response, 'invalid_api_key');
      await customer.requestWithSession('DELETE', `/api/generations/${generation.body.uuid}/`);
    }
    expect(await customer.ledger()).to.deep.equal([['grant', 1100], ...Array.from({ length: 5 }, () => ['burn', -8])]);
  });

  it('last_used_at is updated at most once in 60 seconds across all processes', async () => {
    const [a, b] = service.baseUrls as [string, string];
    const [recent, old] = [await service.createCustomer(null), await service.createCustomer(null)];
    expect((await listKeys(recent))[0].last_used_at).to.equal(null);
    for (const customer of [recent, old]) await used(customer, { baseUrl: a });
    expectTimestamp((await listKeys(recent))[0].last_used_at);

    // 30 s and 61 s later, on a process that has not seen the keys. A process writes its updates in order, so once the
    // second is visible, the first would be.
    const age = async (customer: TestCustomer, seconds: number) => {
      const [{ uuid }] = await listKeys(customer);
      await service.sql(`UPDATE api_keys SET last_used_at = last_used_at - $2 * ${SECOND} WHERE uuid = $1`, [
        uuid,
        seconds,
      ]);
      return { uuid, at: await lastUse(uuid) };
    };
    const [first, second] = [await age(recent, 30), await age(old, 61)];
    for (const customer of [recent, old]) await customer.on(b).request('GET', '/api/keys/');
    await eventually('its use is noted', async () => (await lastUse(second.uuid))?.getTime() !== second.at?.getTime());
    expect(Date.now() - ((await lastUse(second.uuid))?.getTime() ?? 0)).to.be.below(10_000);
    expect(await lastUse(first.uuid)).to.deep.equal(first.at);
  });
});
