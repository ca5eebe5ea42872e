import { expect } from 'chai';
import { type ApiResponse, type TestCustomer, request } from '../harness/apiClient.ts';
import { useTestService } from '../harness/testService.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { sendRawBytes } from '../harness/rawRequest.ts';

/** Position of the response for an output among those that are compared. */
const OUTPUT_INDEX = 5;

describe('every response', () => {
  const service = useTestService({ workers: 0 });
  let customer: TestCustomer;
  /** One response of each kind: success, not found, rejected, invalid, without a body. */
  let responses: ApiResponse[];
  before(async () => {
    await setAllModelsOnline(service);
    customer = await service.createCustomer('pro');
    const generation = await customer.createImage('a prompt that is secret');
    responses = [
      await service.request('GET', '/api/health/'),
      await customer.request('GET', '/api/usage/summary/'),
      await customer.request('POST', '/api/generations/create/', { body: {} }),
      await customer.request('POST', '/api/generations/create/', { rawBody: '{' }),
      await service.request('GET', '/nothing'),
      await service.request('GET', '/media/aa/bb/cc.png'),
      await service.request('GET', '/api/keys/'),
      await customer.request('DELETE', `/api/generations/${generation.uuid}/`),
      await service.request('OPTIONS', '/api/keys/'),
    ];
  });

  it('has the security headers', () => {
    for (const { headers } of responses) {
      expect(headers.get('x-content-type-options')).to.equal('nosniff');
      expect(headers.get('referrer-policy')).to.equal('no-referrer');
      expect(headers.get('content-security-policy')).to.match(
        /^default-src 'none';\s*(frame-ancestors 'none'|sandbox)$/,
      );
      expect(headers.get('x-powered-by')).to.equal(null);
      expect(headers.get('server')).to.equal(null);
    }
  });

  it('sets HSTS if BASE_URL is https', async () => {
    expect(responses[0]?.headers.get('strict-transport-security')).to.equal(null);
    const { baseUrl } = await service.startApi({ BASE_URL: 'https://app.localhost' });
    const { headers } = await request(baseUrl, 'GET', '/api/health/');
    expect(headers.get('strict-transport-security')).to.match(/^max-age=\d{8}/);
  });

  it('has no CORS headers on endpoints for an account, and allows no credentials for outputs', () => {
    for (const [index, { headers }] of responses.entries()) {
      expect(headers.get('access-control-allow-origin')).to.equal(index === OUTPUT_INDEX ? '*' : null);
      expect(headers.get('access-control-allow-credentials')).to.equal(null);
    }
  });

  it('has no CORS headers for any origin unless some are listed', async () => {
    for (const origin of ['https://studio.example', 'null', '']) {
      const { headers } = await customer.request('GET', '/api/models/', { headers: { origin } });
      expect(headers.get('access-control-allow-origin'), origin).to.equal(null);
    }
  });

  it('has its own request id', () => {
    const ids = responses.map(({ headers }) => headers.get('x-request-id'));
    for (const id of ids) expect(id).to.match(/^[A-Za-z0-9._-]{1,64}$/);
    expect(new Set(ids).size).to.equal(ids.length);
  });

  it('repeats a valid X-Request-Id, and no other', async () => {
    for (const id of ['trace-1', 'A.b_c-9', 'x'.repeat(64)]) {
      const { headers } = await service.request('GET', '/api/health/', { headers: { 'x-request-id': id } });
      expect(headers.get('x-request-id')).to.equal(id);
    }
    for (const id of ['', 'x'.repeat(65), 'two words', '{"json":1}', '<script>', 'é']) {
      const { headers } = await service.request('GET', '/api/health/', { headers: { 'x-request-id': id } });
      expect(headers.get('x-request-id')).to.match(/^[0-9a-f-]{36}$/);
    }
  });

  it('health is ok and returns the version', async () => {
    const { status, body } = await service.request('GET', '/api/health/');
    expect([status, body]).to.deep.equal([200, { status: 'ok', version: '2.0.0' }]);
  });

  it('is the same with and without a trailing slash in the path', async () => {
    for (const path of ['/api/health', '/api/models', '/api/billing/plans']) {
      expect((await service.request('GET', path)).body).to.deep.equal((await service.request('GET', `${path}/`)).body);
    }
    expect((await customer.request('GET', '/api/keys')).status).to.equal(200);
  });

  it('to HEAD equals the response to GET without the body', async () => {
    for (const path of ['/api/health/', '/api/models/']) {
      const head = await request(service.baseUrl, 'HEAD', path);
      const whole = await request(service.baseUrl, 'GET', path);
      expect([head.status, head.body]).to.deep.equal([200, undefined]);
      expect(head.headers.get('content-length')).to.equal(whole.headers.get('content-length'));
      expect(head.headers.get('content-type')).to.equal(whole.headers.get('content-type'));
    }
    expect((await customer.request('HEAD', '/api/generations/')).status).to.equal(200);
  });

  it('to malformed HTTP is a 400 or nothing, and other requests are unaffected', async () => {
    const bytes = [
      '\u0000\u0001\u0002\r\n\r\n',
      'GET\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`,
    ];
    for (const message of bytes) expect(await sendRawBytes(service.baseUrl, message)).to.match(/^(HTTP\/1.1 4\d\d |$)/);
    expect((await service.request('GET', '/api/health/')).status).to.equal(200);
  });

  it('is logged as one JSON line with its id, without any secret or prompt', async () => {
    const id = 'a-request-to-find';
    const token = customer.cookie.slice('token='.length);
    await customer.request('GET', '/api/keys/?page=1&note=hidden-query', { headers: { 'x-request-id': id } });
    await customer.requestWithSession('PATCH', '/authentication/me/', { body: { first_name: 'hidden-name' } });
    const url = 'https://example.com/hidden-path?token=hidden-parameter';
    const webhook = await customer.request('POST', '/api/webhooks/create/', { body: { url } });
    expect(webhook.status).to.equal(201);
    // Addresses that are credentials.
    for (const [method, path] of [
      ['POST', '/unsubscribe/hidden-token'],
      ['POST', '/restore-sign-in/hidden-token'],
      ['POST', '/upstream-events/hidden-token'],
      ['PUT', `/uploads/${webhook.body.uuid}/original?expires=1&signature=hidden-signature`],
      ['GET', '/media/hidden/hidden/hidden.png'],
      ['GET', '/hidden-address'],
    ] as const)
      expect((await request(service.baseUrl, method, path)).status, path).to.equal(404);
    // The last test of this file: stopping the process flushes its log.
    await service.apis[0]?.stop();
    const logs = service.apis[0]?.logs() ?? '';
    const lines = logs
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const found = lines.find((line) => line.requestId === id && line.msg === 'request');
    expect(found).to.include({ method: 'GET', route: '/api/keys/', status: 200 });
    expect(found.ms).to.be.a('number');
    for (const secret of [
      customer.key,
      customer.key.slice(4),
      token,
      customer.email,
      'prompt that is secret',
      'hidden-',
      webhook.body.secret,
    ]) {
      expect(logs.includes(secret), `the logs contain ${secret.slice(0, 12)}`).to.equal(false);
    }
  });
});
