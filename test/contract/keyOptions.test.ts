import { expect } from 'chai';
import { IMAGE, type TestCustomer, VIDEO } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { buildToolCall, openMcpSession, postMcp } from '../harness/mcpClient.ts';
import { postUrlEncoded } from '../harness/oauthClient.ts';
import { createRestrictedKey } from '../harness/restrictedKeys.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { useTestService } from '../harness/testService.ts';

const DAY_MS = 86_400_000;
const OPTIONS = {
  scopes: ['svc:read', 'svc:write'],
  expires_at: '2099-01-01T00:00:00.000Z',
  credit_limit: { credits: 100, period: 'month' },
  allowed_models: ['imgmodel-2'],
  allowed_ips: ['127.0.0.1', '192.0.2.0/24', '2001:db8::/32', '::1'],
} as const;

/** Values that are rejected, by field. */
const INVALID: Record<string, readonly unknown[]> = {
  scopes: ['svc:read', 5, {}, [], ['svc:admin'], [null], ['svc:read', 'svc:account'], Array(51).fill('svc:read')],
  expires_at: [5, true, {}, [], '', 'tomorrow', '2020-01-01', '2026-13-01', '2099-01-01T00:00:00', 'x'.repeat(101)],
  credit_limit: [5, '5', [], {}, { credits: 5 }, { credits: 0, period: 'day' }, { credits: 5, period: 'week' }],
  allowed_models: ['imgmodel-2', 5, {}, [], [5], [''], ['no-such-model'], ['a\u0000b'], Array(51).fill('imgmodel-2')],
  allowed_ips: [
    '192.0.2.7',
    5,
    {},
    [],
    [5],
    ...[
      '',
      'x',
      '192.0.2',
      '192.0.2.7/33',
      '192.0.2.7/24',
      '2001:db8::1/32',
      'fe80::1%eth0',
      'example.com',
      '192.0.2.7/',
    ]
      // Each alone in a list.
      .map((address) => [address]),
    Array.from({ length: 51 }, (_, index) => `192.0.2.${index}`),
  ],
};

const update = (owner: TestCustomer, uuid: string, body: unknown) =>
  owner.requestWithSession('PATCH', `/api/keys/${uuid}/`, { body });
const listKey = async (owner: TestCustomer, uuid: string) =>
  (await owner.requestWithSession('GET', '/api/keys/')).body.data.find((key: { uuid: string }) => key.uuid === uuid);

describe('options of API keys', () => {
  const service = useTestService({ workers: 0, apis: 2, env: { TRUSTED_PROXIES: '1' } });
  let owner: TestCustomer;
  before(() => setAllModelsOnline(service));
  beforeEach(async () => {
    owner = await service.createCustomer('studio');
  });
  afterEach(() => service.moveClockTo(new Date()));

  it('a created key and its list item contain the options that are set, in canonical form', async () => {
    const body = { name: 'a', ...OPTIONS, allowed_ips: ['::ffff:192.0.2.7', '10.0.0.0/8', '192.0.2.7/32'] };
    const created = await owner.requestWithSession('POST', '/api/keys/create/', { body });
    expect(created.status).to.equal(201);
    const expected = { ...OPTIONS, allowed_ips: ['192.0.2.7', '10.0.0.0/8'], credits_used: 0 };
    expect(created.body).to.deep.include(expected);
    expect(await listKey(owner, created.body.uuid)).to.deep.include(expected);
  });

  for (const [field, values] of Object.entries(INVALID)) {
    it(`${field}: rejects invalid values, at the creation and as a change`, async () => {
      const { uuid } = await createRestrictedKey(service, owner, {});
      const before = await listKey(owner, uuid);
      for (const value of values) {
        const body = { name: 'a', [field]: value };
        expectError(await owner.requestWithSession('POST', '/api/keys/create/', { body }), 'validation_error', field);
        expectError(await update(owner, uuid, { [field]: value }), 'validation_error', field);
        expect(await listKey(owner, uuid), JSON.stringify(value)).to.deep.equal(before);
      }
    });
  }

  it('a change sets single options, keeps the others, and null removes them', async () => {
    const { uuid } = await createRestrictedKey(service, owner, OPTIONS);
    const changed = await update(owner, uuid, { name: 'renamed', scopes: ['svc:read'] });
    expect(changed.status).to.equal(200);
    expect(changed.body).to.deep.include({ name: 'renamed', scopes: ['svc:read'], allowed_models: ['imgmodel-2'] });
    expect(changed.body).to.deep.equal(await listKey(owner, uuid));
    const none = Object.fromEntries(Object.keys(OPTIONS).map((name) => [name, null]));
    expect((await update(owner, uuid, none)).body).to.have.all.keys(
      'uuid',
      'name',
      'prefix',
      'last_used_at',
      'revoked',
      'created_at',
    );
    const log = await service.sql(
      `SELECT details ->> 'changed' AS changed FROM security_events WHERE event = 'key_changed' AND account_id =
         (SELECT id FROM accounts WHERE email = $1) ORDER BY id`,
      [owner.email],
    );
    expect(log.map(({ changed: names }) => names)).to.deep.equal([
      'name, scopes',
      'credit_limit, scopes, expires_at, allowed_models, allowed_ips',
    ]);
  });

  it('a revoked key cannot be changed', async () => {
    const { uuid } = await createRestrictedKey(service, owner, {});
    await owner.requestWithSession('POST', `/api/keys/${uuid}/revoke/`);
    expectError(await update(owner, uuid, { name: 'b' }), 'validation_error', 'revoked');
  });

  it('a change takes effect on the next read at a process that has just used the key', async () => {
    const { uuid, customer } = await createRestrictedKey(service, owner, {});
    const there = customer.on(service.baseUrls[1] as string);
    for (const [change, error] of [
      [{ scopes: ['svc:read'] }, undefined],
      [{ scopes: ['svc:write'] }, 'insufficient_scope'],
      [{ scopes: null }, undefined],
      [{ allowed_ips: ['192.0.2.0/24'] }, 'insufficient_scope'],
    ] as const) {
      await update(owner, uuid, change);
      expect((await there.request('GET', '/api/usage/summary/')).body.error).to.equal(error);
    }
  });

  it('a key restricted to models creates and estimates with those only, over REST and MCP', async () => {
    const { customer } = await createRestrictedKey(service, owner, { allowed_models: ['imgmodel-2'] });
    expect((await customer.createGeneration(IMAGE)).status).to.equal(201);
    expectError(await customer.createGeneration(VIDEO), 'insufficient_scope', 'vidmodel-video');
    const estimate = { ...VIDEO, prompt: 'a' };
    expectError(
      await customer.request('POST', '/api/generations/estimate/', { body: estimate }),
      'insufficient_scope',
      'vidmodel-video',
    );
    const headers = await openMcpSession(customer);
    const call = buildToolCall('generate_video', { prompt: 'x', duration: 5, resolution: '720p' });
    const { body } = await postMcp(customer, call, { headers });
    expect(body.result.structuredContent.error).to.equal('insufficient_scope');
  });

  it('a key restricted to addresses is compared with the client that a trusted proxy names, also over MCP', async () => {
    const { customer } = await createRestrictedKey(service, owner, { allowed_ips: ['192.0.2.0/24', '2001:db8::/32'] });
    for (const [address, isAllowed] of [
      ['192.0.2.7', true],
      ['::ffff:192.0.2.7', true],
      ['192.0.2.7:5678', true],
      ['2001:db8:1::9', true],
      ['192.0.3.7', false],
      ['2001:db9::1', false],
      ['nonsense', false],
    ] as const) {
      const headers = { 'x-forwarded-for': address };
      const responses = [
        await customer.request('GET', '/api/usage/summary/', { headers }),
        await customer.request('POST', '/api/generations/estimate/', { headers, body: { ...IMAGE, prompt: 'a' } }),
        await postMcp(customer, buildToolCall('get_usage', {}), { headers }),
      ];
      for (const response of responses) {
        if (isAllowed) expect(response.body.error, address).to.not.equal('insufficient_scope');
        else expectError(response, 'insufficient_scope');
      }
    }
    // Without the header the client is the loopback address.
    expectError(await customer.request('GET', '/api/usage/summary/'), 'insufficient_scope', '127.0.0.1');
  });

  it('an expired key gets a 401 that says so, on routes of every kind and over MCP', async () => {
    const expiresAt = new Date(service.now.getTime() + DAY_MS).toISOString();
    const { uuid, customer } = await createRestrictedKey(service, owner, { expires_at: expiresAt });
    const [generation, way] = [
      (await customer.createGeneration(IMAGE)).body,
      customer.on(service.baseUrls[1] as string),
    ];
    expect((await way.readGeneration(generation.uuid)).status).to.equal(200);
    await service.moveClockTo(new Date(Date.now() + DAY_MS + 1_000));
    const responses = [
      await way.readGeneration(generation.uuid),
      await way.createGeneration(IMAGE),
      await way.request('GET', '/api/usage/summary/'),
      await postMcp(way, buildToolCall('get_usage', {})),
    ];
    for (const response of responses) expectError(response, 'invalid_api_key', 'expired');
    // By a key, because the sign-in is a day ago.
    const change = { body: { expires_at: null } };
    expectError(await owner.request('PATCH', `/api/keys/${uuid}/`, change), 'validation_error', 'expired');
  });

  it('a restricted key cannot create or change keys, nor lift its own options', async () => {
    for (const options of Object.entries({ ...OPTIONS, allowed_ips: ['127.0.0.1', '::1'] })) {
      const { uuid, customer } = await createRestrictedKey(service, owner, Object.fromEntries([options]));
      const create = { body: { name: 'escalated' } };
      expectError(await customer.request('POST', '/api/keys/create/', create), 'insufficient_scope');
      expectError(
        await customer.request('PATCH', `/api/keys/${uuid}/`, { body: { [options[0]]: null } }),
        'insufficient_scope',
      );
      const page = await postUrlEncoded(
        service.baseUrl,
        '/account/keys/',
        { name: 'escalated' },
        { authorization: `Bearer ${customer.key}`, origin: service.baseUrl },
      );
      expect([page.status, page.headers.get('location')?.startsWith('/sign-in')]).to.deep.equal([303, true]);
    }
  });
});
