import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { filterRoutes, isChange, VALID_BODIES } from '../harness/routes.ts';
import { type TestService, startTestService } from '../harness/testService.ts';

const SESSION_ROUTES = filterRoutes('cookie');

const readUser = async (customer: TestCustomer) =>
  (await customer.requestWithSession('GET', '/authentication/me/')).body.user;

describe('credentials of session endpoints', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ workers: 0 });
  });
  after(() => service.stop());

  it('API keys are not accepted on session endpoints', async () => {
    const customer = await service.createCustomer(null);
    for (const { name, method, path } of SESSION_ROUTES) {
      const body = VALID_BODIES[name];
      expectError(await customer.request(method, path, { body }), 'invalid_api_key');
      expectError(
        await customer.request(method, path, { body, headers: { 'x-api-key': customer.key } }),
        'invalid_api_key',
      );
    }
    expect((await readUser(customer)).onboarding_step).to.equal('profile');
  });

  it('a missing, unknown, empty or expired cookie is rejected with 401', async () => {
    const customer = await service.createCustomer(null);
    const cookies = ['', 'token=', 'token=abc', `token=${'0'.repeat(64)}`, 'token="', 'Token=x', 'token=\u00e9'];
    for (const { name, method, path } of SESSION_ROUTES) {
      const body = VALID_BODIES[name];
      for (const cookie of cookies)
        expectError(await customer.requestWithSession(method, path, { body, headers: { cookie } }), 'invalid_api_key');
    }
    expectError(
      await customer.requestWithSession('GET', '/api/keys/', { headers: { cookie: 'token=abc' } }),
      'invalid_api_key',
    );
    await service.sql(
      `UPDATE sessions SET expires_at = now() - interval '1 second'
        WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`,
      [customer.email],
    );
    expectError(await customer.requestWithSession('GET', '/authentication/me/'), 'invalid_api_key');
    expectError(await customer.requestWithSession('GET', '/api/keys/'), 'invalid_api_key');
  });

  const foreign: Record<string, string | undefined> = {
    'no Origin': undefined,
    'the Origin null': 'null',
    'another site': 'https://evil.example',
    'a site that begins like ours': 'http://127.0.0.1.evil.example',
    'another port': 'http://127.0.0.1:1',
    'an Origin that is none': 'http://',
  };
  for (const [what, origin] of Object.entries(foreign)) {
    it(`a change with the cookie from ${what} is rejected and changes nothing`, async () => {
      const customer = await service.createCustomer(null);
      const before = await readUser(customer);
      const changes: [string, string, unknown?][] = [
        ...SESSION_ROUTES.filter(isChange).map((row): [string, string, unknown] => [
          row.method,
          row.path,
          VALID_BODIES[row.name],
        ]),
        ['POST', '/api/keys/create/', { name: 'x' }],
        ['POST', '/api/billing/checkout/', { plan: 'pro' }],
        ['POST', '/api/generations/create/', {}],
        ['DELETE', `/api/generations/${before.uuid}/`],
      ];
      for (const [method, path, body] of changes) {
        const headers: Record<string, string> = {
          cookie: customer.cookie,
          ...(origin === undefined ? {} : { origin }),
        };
        expectError(await service.request(method, path, { body, headers }), 'invalid_api_key', 'Origin');
      }
      const headers: Record<string, string> = {
        cookie: customer.cookie,
        ...(origin === undefined ? {} : { origin }),
      };
      expect((await service.request('GET', '/authentication/me/', { headers })).body.user).to.deep.equal(before);
      expect((await customer.request('GET', '/api/keys/')).body.pagination.total_items).to.equal(1);
    });
  }

  it('an API key needs no Origin', async () => {
    const customer = await service.createCustomer(null);
    const headers = { origin: 'https://somewhere.example' };
    const { status } = await customer.request('POST', '/api/keys/create/', { headers, body: { name: 'x' } });
    expect(status).to.equal(201);
  });

  it('a key and a cookie are accepted together for one account, and rejected for two', async () => {
    const [customer, other] = await Promise.all([service.createCustomer(null), service.createCustomer(null)]);
    const both = { authorization: `Bearer ${customer.key}` };
    expect((await customer.requestWithSession('GET', '/api/keys/', { headers: both })).status).to.equal(200);
    expectError(await other.requestWithSession('GET', '/api/keys/', { headers: both }), 'invalid_api_key');
    expectError(
      await customer.requestWithSession('GET', '/api/keys/', {
        headers: { authorization: `Bearer svc_${'0'.repeat(40)}` },
      }),
      'invalid_api_key',
    );
    expectError(await customer.request('GET', '/api/keys/', { headers: { cookie: 'token=over' } }), 'invalid_api_key');
  });
});
