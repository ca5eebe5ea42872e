import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { FaultProxy } from '../fakes/faultProxy.ts';
import { type ApiResponse, type TestCustomer, IMAGE, request } from '../harness/apiClient.ts';
import { requireTestEnv } from '../harness/databases.ts';
import { registerClient } from '../harness/oauthClient.ts';
import { useTestService } from '../harness/testService.ts';
import { expectError, countOccurrences } from '../harness/errorEnvelope.ts';
import { setAllModelsOnline, completeAllGenerations } from '../harness/seeds.ts';
import { sendRequestHead } from '../harness/rawRequest.ts';

/** Limits that are small enough to be reached, and distinct, so that tests can identify the one that applied. */
const LIMITS = {
  RATE_CREATES_PER_MINUTE: '3',
  RATE_PAYMENTS_PER_MINUTE: '5',
  RATE_REQUESTS_PER_MINUTE: '6',
  RATE_PUBLIC_PER_MINUTE: '4',
};

/** Sends requests one after another and returns the responses. */
async function repeatRequest(count: number, once: (index: number) => Promise<ApiResponse>): Promise<ApiResponse[]> {
  const responses: ApiResponse[] = [];
  for (let index = 0; index < count; index += 1) responses.push(await once(index));
  return responses;
}

function expectRateLimited(response: ApiResponse, name: string, quota: number): void {
  expectError(response, 'rate_limited');
  expect(Number(response.headers.get('retry-after'))).to.be.within(1, 60);
  expect(response.headers.get('ratelimit-policy')).to.equal(`"${name}";q=${quota};w=60`);
  expect(response.headers.get('ratelimit')).to.match(new RegExp(`^"${name}";r=0;t=\\d+$`));
}

describe('rate limits', () => {
  const service = useTestService({ workers: 0 });
  /** Two processes with shared counters behind a proxy that forwards the client's address. */
  let limited: string[];
  before(async () => {
    await setAllModelsOnline(service);
    const env = { RATE_LIMITS: 'on', TRUSTED_PROXIES: '1', ...LIMITS };
    limited = (await Promise.all([service.startApi(env), service.startApi(env)])).map(({ baseUrl }) => baseUrl);
  });

  let addresses = 0;
  /** Returns an address without counted requests. */
  const freshAddress = () => {
    addresses += 1;
    return `198.51.100.${addresses}`;
  };
  const via = (customer: TestCustomer, index = 0) => customer.on(limited[index % 2] ?? '');
  const fromAddress = (address: string, path: string, headers: Record<string, string> = {}) =>
    request(limited[0] ?? '', 'GET', path, { headers: { 'x-forwarded-for': address, ...headers } });

  it('every response has RateLimit headers with the remaining requests', async () => {
    const customer = await service.createCustomer(null);
    const responses = await repeatRequest(3, () => via(customer).request('GET', '/api/keys/'));
    expect(responses.map(({ headers }) => headers.get('ratelimit')?.split(';')[1])).to.deep.equal([
      'r=5',
      'r=4',
      'r=3',
    ]);
    expect(responses[0]?.headers.get('ratelimit-policy')).to.equal('"account";q=6;w=60');
    const missing = await via(customer).readGeneration(randomUUID());
    expect([missing.status, missing.headers.get('ratelimit')?.split(';')[1]]).to.deep.equal([404, 'r=2']);
  });

  it('creates are limited per account across all processes; over the limit they get 429 with Retry-After and charge nothing', async () => {
    const customer = await service.createCustomer('pro');
    const responses = await repeatRequest(4, (index) => via(customer, index).createGeneration(IMAGE));
    expect(responses.slice(0, 3).map(({ status }) => status)).to.deep.equal([201, 201, 201]);
    expectRateLimited(responses[3] as ApiResponse, 'create', 3);
    expect(await customer.balance()).to.equal(1100 - 3 * 8);
    await completeAllGenerations(service, customer);
    expect((await via(customer).request('GET', '/api/generations/')).status).to.equal(200);
  });

  it('other requests are limited per account, with all of its keys and applications counted together', async () => {
    const customer = await service.createCustomer('pro');
    const { body: second } = await customer.requestWithSession('POST', '/api/keys/create/', { body: { name: 'b' } });
    const client = await registerClient(limited[0] ?? '');
    const { access_token: token } = await client.authorizeAndExchange(customer, { resource: `${limited[0]}/api/` });
    const responses = await repeatRequest(7, (index) => {
      // A token is for the address of one process.
      const headers = { authorization: `Bearer ${[token, customer.key, second.key][index % 3]}` };
      return via(customer, index % 3).request('GET', '/api/generations/', { headers });
    });
    expect(countOccurrences(responses.map(({ status }) => status))).to.deep.equal({ 200: 6, 429: 1 });
    expectRateLimited(responses[6] as ApiResponse, 'account', 6);
    expect((await via(customer).createGeneration(IMAGE)).status).to.equal(201);
    const other = await service.createCustomer(null);
    expect((await via(other).request('GET', '/api/keys/')).status).to.equal(200);
  });

  it('other requests with sessions are limited per member, apart from keys: a leaked key can still be revoked', async () => {
    const customer = await service.createCustomer('pro');
    const { body: leaked } = await customer.requestWithSession('POST', '/api/keys/create/', {
      body: { name: 'leaked' },
    });
    const headers = { authorization: `Bearer ${leaked.key}` };
    const flood = await repeatRequest(7, () => via(customer).request('GET', '/api/keys/', { headers }));
    expectRateLimited(flood[6] as ApiResponse, 'account', 6);
    const revoked = await via(customer).requestWithSession('POST', `/api/keys/${leaked.uuid}/revoke/`);
    expect([revoked.status, revoked.headers.get('ratelimit')?.split(';')[1]]).to.deep.equal([200, 'r=5']);
    const page = await request(limited[0] ?? '', 'GET', '/account/keys/', { headers: { cookie: customer.cookie } });
    expect(page.status).to.equal(200);
    const signedIn = await service.request('POST', '/authentication/dev/sign-in/', { body: { email: customer.email } });
    const second = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const own = await repeatRequest(5, (index) =>
      request(limited[index % 2] ?? '', 'GET', '/authentication/me/', {
        headers: { cookie: index % 2 === 0 ? second : customer.cookie },
      }),
    );
    expect(own.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200, 429]);
    expectRateLimited(own[4] as ApiResponse, 'account', 6);
  });

  it('payment requests are limited per account, with API calls and pages counted together', async () => {
    const customer = await service.createCustomer('pro');
    const asks: [string, string, object?][] = [
      ['POST', '/api/billing/portal/'],
      ['POST', '/api/billing/checkout/', { plan: 'pro' }],
      ['PATCH', '/api/billing/topup/settings/', { auto_topup_threshold_credits: 1 }],
      ['POST', '/api/affiliate/onboarding-link/'],
    ];
    const responses = await repeatRequest(4, (index) => {
      const [method, path, body] = asks[index] as (typeof asks)[number];
      return via(customer, index).request(method, path, { body });
    });
    expect(responses.map(({ status }) => status)).to.deep.equal([200, 400, 200, 404]);
    const page = await request(limited[0] ?? '', 'GET', '/account/payouts/again', {
      headers: { cookie: customer.cookie },
    });
    expect(page.headers.get('ratelimit')).to.match(/^"payment";r=0;/);
    const refused = await via(customer).request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
    expectRateLimited(refused, 'payment', 5);
    expect(await customer.balance()).to.equal(1_100);
    expect((await via(customer).request('GET', '/api/billing/status/')).status).to.equal(200);
  });

  it('limits hold for simultaneous requests', async () => {
    const customer = await service.createCustomer(null);
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) => via(customer, index).request('GET', '/api/keys/')),
    );
    expect(countOccurrences(responses.map(({ status }) => status))).to.deep.equal({ 200: 6, 429: 14 });
  });

  it('public requests are limited per address, across all endpoints', async () => {
    const address = freshAddress();
    const paths = [
      '/api/models/',
      '/api/openapi.json',
      '/api/billing/plans/',
      '/nothing/here/',
      '/authentication/social/config/',
    ];
    const responses = await repeatRequest(5, (index) => fromAddress(address, paths[index] ?? ''));
    expect(responses.map(({ status }) => status)).to.deep.equal([200, 200, 200, 404, 429]);
    expectRateLimited(responses[4] as ApiResponse, 'public', 4);
    expect((await fromAddress(freshAddress(), '/api/models/')).status).to.equal(200);
  });

  it('the networks of one IPv6 site share 16 times the limit of one network', async () => {
    const site = `2001:db8:${(Date.now() % 0xffff).toString(16)}`;
    // 16 networks with 4 requests each, at both processes.
    const within = await Promise.all(
      Array.from({ length: 64 }, (_, index) => fromAddress(`${site}:${index % 16}::1`, '/api/models/')),
    );
    expect(new Set(within.map(({ status }) => status))).to.deep.equal(new Set([200]));
    const over = await fromAddress(`${site}:ffff::1`, '/api/models/');
    expectError(over, 'rate_limited');
    expect(Number(over.headers.get('retry-after'))).to.be.within(1, 60);
    const cookie = { cookie: `token=${'ab'.repeat(32)}` };
    expectError(await fromAddress(`${site}:fffe::1`, '/api/keys/', cookie), 'rate_limited');
    expect((await fromAddress('2001:db9::1', '/api/models/')).status).to.equal(200);
  });

  it('the documentation page and each of its files count as public requests', async () => {
    const address = freshAddress();
    const paths = ['', 'swagger-ui.css', 'swagger-ui-bundle.js', 'start.js', 'swagger-ui-bundle.js'];
    const responses = await repeatRequest(5, (index) => fromAddress(address, `/api/docs/${paths[index]}`));
    expect(responses.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200, 429]);
    expectRateLimited(responses[4] as ApiResponse, 'public', 4);
  });

  it('health and readiness probes are not counted', async () => {
    const address = freshAddress();
    const asked = await repeatRequest(12, (index) =>
      fromAddress(address, index % 2 === 0 ? '/api/health/' : '/api/ready/'),
    );
    expect(asked.map(({ status }) => status)).to.not.include(429);
    expect(asked.map(({ headers }) => headers.get('ratelimit'))).to.deep.equal(Array(12).fill(null));
    const counted = await fromAddress(address, '/api/models/');
    expect(counted.headers.get('ratelimit')).to.match(/^"public";r=3;/);
  });

  it('failed credentials count against the address and not against any account', async () => {
    const address = freshAddress();
    const responses = await repeatRequest(5, (index) =>
      fromAddress(address, '/api/keys/', { authorization: `Bearer svc_${String(index).repeat(40)}` }),
    );
    expect(responses.map(({ status }) => status)).to.deep.equal([401, 401, 401, 401, 429]);
    expectRateLimited(responses[4] as ApiResponse, 'public', 4);
    expectError(await fromAddress(address, '/authentication/me/', { cookie: 'token=guess' }), 'rate_limited');
    const customer = await service.createCustomer(null);
    const headers = { 'x-forwarded-for': address };
    expect((await via(customer).request('GET', '/api/keys/', { headers })).status).to.equal(200);
  });

  it('a revoked key counts against the address and not against its account', async () => {
    const customer = await service.createCustomer('pro');
    const revoked = (await customer.requestWithSession('POST', '/api/keys/create/', { body: { name: 'leaked' } })).body;
    const headers = { authorization: `Bearer ${revoked.key}`, 'x-forwarded-for': freshAddress() };
    const create = () =>
      via(customer).request('POST', '/api/generations/create/', { headers, body: { ...IMAGE, prompt: 'a' } });
    expect((await create()).status).to.equal(201);
    await customer.requestWithSession('POST', `/api/keys/${revoked.uuid}/revoke/`);
    const responses = await repeatRequest(5, create);
    expect(responses.map(({ status }) => status)).to.deep.equal([401, 401, 401, 401, 429]);
    expect((await via(customer).createGeneration(IMAGE)).status).to.equal(201);
  });

  it('requests with a revoked key and an unfinished body do not count against its account', async () => {
    const customer = await service.createCustomer('pro');
    const revoked = (await customer.requestWithSession('POST', '/api/keys/create/', { body: { name: 'leaked' } })).body;
    const headers = { authorization: `Bearer ${revoked.key}`, 'x-forwarded-for': freshAddress() };
    // This process has seen the key while it was valid.
    expect((await via(customer).request('GET', `/api/generations/${randomUUID()}/`, { headers })).status).to.equal(404);
    await via(customer, 1).requestWithSession('POST', `/api/keys/${revoked.uuid}/revoke/`);
    const unfinished = await Promise.all(
      Array.from({ length: 6 }, () => sendRequestHead(limited[0] ?? '', 'POST', '/api/generations/create/', headers)),
    );
    const responses = await repeatRequest(3, () => via(customer).createGeneration(IMAGE));
    expect(responses.map(({ status }) => status)).to.deep.equal([201, 201, 201]);
    for (const socket of unfinished) socket.end('{}');
    const seen = await Promise.all(unfinished.map((socket) => socket.reply));
    expect(countOccurrences(seen.map((text) => text.split(' ')[1] ?? ''))).to.deep.equal({ 401: 4, 429: 2 });
    await completeAllGenerations(service, customer);
  });

  it('a form of an address over its limit is rejected before its body has arrived', async () => {
    const headers = { 'x-forwarded-for': freshAddress(), 'content-type': 'application/x-www-form-urlencoded' };
    const open = await repeatRequest(4, () => request(limited[0] ?? '', 'GET', '/sign-in', { headers }));
    expect(open.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200]);
    const unfinished = await sendRequestHead(limited[0] ?? '', 'POST', '/sign-in', headers);
    expect((await unfinished.reply).split(' ')[1]).to.equal('429');
  });

  it('an address over its limit is rejected before an unknown cookie is queried', async () => {
    const address = freshAddress();
    const ask = () =>
      fromAddress(address, '/authentication/me/', { cookie: `token=${randomUUID().replaceAll('-', '').repeat(2)}` });
    const responses = await repeatRequest(5, ask);
    expect(responses.map(({ status }) => status)).to.deep.equal([401, 401, 401, 401, 429]);
    const lock = await service.database.connect();
    await lock.query('BEGIN; LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE');
    try {
      expectRateLimited(await ask(), 'public', 4);
    } finally {
      await lock.query('ROLLBACK');
      lock.release();
    }
  });

  it('401 takes precedence over 429, and 429 over 400', async () => {
    const customer = await service.createCustomer('pro');
    const revoked = (await customer.requestWithSession('POST', '/api/keys/create/', { body: { name: 'spent' } })).body;
    await repeatRequest(3, () => via(customer).createGeneration(IMAGE));
    expectError(await via(customer).createGeneration({ model: 'none', params: {} }), 'rate_limited');
    const headers = { authorization: `Bearer ${revoked.key}`, 'x-forwarded-for': freshAddress() };
    await via(customer).request('GET', '/api/keys/', { headers });
    await customer.requestWithSession('POST', `/api/keys/${revoked.uuid}/revoke/`);
    expectError(
      await via(customer).request('POST', '/api/generations/create/', { headers, body: {} }),
      'invalid_api_key',
    );
  });

  it('X-Forwarded-For is ignored without a trusted proxy', async () => {
    const { baseUrl } = await service.startApi({
      RATE_LIMITS: 'on',
      REDIS_PREFIX: `untrusted-${randomUUID()}`,
      ...LIMITS,
    });
    const responses = await repeatRequest(5, () =>
      request(baseUrl, 'GET', '/api/models/', { headers: { 'x-forwarded-for': freshAddress() } }),
    );
    expect(responses.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200, 429]);
  });

  it('behind a trusted proxy, the address that the proxy saw counts', async () => {
    const seen = freshAddress();
    const responses = await repeatRequest(5, () => fromAddress(`${freshAddress()}, ${seen}`, '/api/models/'));
    expect(responses.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200, 429]);
  });

  it('limits hold per process while Redis is unavailable', async () => {
    const redis = await new FaultProxy(requireTestEnv('TEST_REDIS_URL')).start();
    try {
      const env = { RATE_LIMITS: 'on', TRUSTED_PROXIES: '1', REDIS_URL: redis.url, ...LIMITS };
      const { baseUrl } = await service.startApi(env);
      const customer = await service.createCustomer(null);
      redis.refuse();
      const headers = { 'x-forwarded-for': freshAddress() };
      const open = await repeatRequest(6, () => request(baseUrl, 'GET', '/api/models/', { headers }));
      expect(countOccurrences(open.map(({ status }) => status))).to.deep.equal({ 200: 4, 429: 2 });
      expectRateLimited(open[5] as ApiResponse, 'public', 4);
      const own = await repeatRequest(8, () => customer.on(baseUrl).request('GET', '/api/keys/'));
      expect(countOccurrences(own.map(({ status }) => status))).to.deep.equal({ 200: 6, 429: 2 });
      expectRateLimited(own[7] as ApiResponse, 'account', 6);
    } finally {
      await redis.stop();
    }
  });

  it('limits are off with RATE_LIMITS=off', async () => {
    const customer = await service.createCustomer(null);
    const responses = await Promise.all(Array.from({ length: 30 }, () => customer.request('GET', '/api/keys/')));
    expect(countOccurrences(responses.map(({ status }) => status))).to.deep.equal({ 200: 30 });
    expect(responses[0]?.headers.get('ratelimit')).to.equal(null);
  });
});
