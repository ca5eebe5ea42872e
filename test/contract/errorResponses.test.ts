import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { type ApiResponse, TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { CREATE, type InvalidRequests, startInvalidRequests } from '../harness/invalidRequests.ts';
import { sendRawRequest } from '../harness/rawRequest.ts';
import type { TestService } from '../harness/testService.ts';

describe('errors', () => {
  let requests: InvalidRequests;
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    requests = await startInvalidRequests();
    ({ service, customer } = requests);
  });
  after(() => service.stop());
  afterEach('nothing was charged', () => requests.expectNoEffect());

  describe('not_found', () => {
    const nowhere = [
      '/api',
      '/api/',
      '/api/generations',
      '/nothing',
      '/api/models/x/',
      '/index.html',
      '/.env',
      '/api/keys/create/x/',
    ];
    for (const path of nowhere.filter((candidate) => candidate !== '/api/generations')) {
      it(`is the response to ${path}, in the error envelope`, async () => {
        for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND']) {
          expectError(await customer.request(method, path), 'not_found');
        }
        expect((await sendRawRequest(service.baseUrl, 'HEAD', path)).status).to.equal(404);
      });
    }

    const crooked = [
      '/api/generations/%zz/',
      '/api/generations/%00/',
      '/%',
      '/api/models/%E0%A4%A/',
      '//api/models//',
      '/api/../etc/passwd',
      '/\u00e9'.replace('\u00e9', '%C3'),
      '/x?%',
      `/${'x'.repeat(8_000)}`,
    ];
    for (const path of crooked) {
      it(`is the response to ${path.slice(0, 40)}`, async () => {
        const headers = { authorization: `Bearer ${customer.key}` };
        expectError(await sendRawRequest(service.baseUrl, 'GET', path, { headers }), 'not_found');
      });
    }

    const wrongMethods: [string, string, string[]][] = [
      ['PUT', '/api/generations/', ['GET']],
      ['GET', '/api/generations/create/', ['POST']],
      ['DELETE', '/api/generations/create', ['POST']],
      ['PATCH', `/api/generations/${randomUUID()}/`, ['GET', 'DELETE']],
      ['DELETE', '/api/keys/', ['GET']],
      ['POST', '/api/usage/summary/', ['GET']],
      ['GET', '/api/billing/checkout/', ['POST']],
      ['PUT', '/api/billing/topup/settings/', ['GET', 'PATCH']],
      ['GET', '/api/billing/topup/', ['POST']],
      ['GET', '/api/billing/webhooks/processor/', ['POST']],
      ['POST', '/api/health/', ['GET']],
      ['PUT', '/authentication/me/', ['GET', 'PATCH']],
      ['GET', '/authentication/logout', ['POST']],
    ];
    for (const [method, path, allowed] of wrongMethods) {
      it(`has an Allow header if only the method is wrong: ${method} ${path.replace(/[0-9a-f-]{36}/, '{uuid}')}`, async () => {
        const answer = await customer.request(method, path);
        expectError(answer, 'not_found');
        expect(answer.headers.get('allow')?.split(', ')).to.include.members(allowed).and.not.include(method);
      });
    }

    for (const uuid of [
      '5',
      'null',
      'undefined',
      'x'.repeat(36),
      randomUUID().slice(1),
      `${randomUUID()}0`,
      `{${randomUUID()}}`,
      '%27%20OR%201=1',
      `${randomUUID()}%00`,
      '00000000-0000-0000-0000-00000000000g',
      randomUUID().replaceAll('-', ''),
    ]) {
      it(`is the response for ${uuid.slice(0, 40).replace(/[0-9a-f]{8}-?([0-9a-f]{4}-?){3}/, '…')}, an invalid uuid`, async () => {
        expectError(await customer.readGeneration(uuid), 'not_found');
        expectError(await customer.request('DELETE', `/api/generations/${uuid}/`), 'not_found');
        expectError(await customer.request('POST', `/api/keys/${uuid}/revoke/`), 'not_found');
      });
    }
  });

  describe('invalid_api_key', () => {
    const someKey = `svc_${'ab'.repeat(20)}`;
    const authorizations = [
      'Bearer',
      'Bearer ',
      `Bearer ${someKey}`,
      `Bearer ${someKey} ${someKey}`,
      `Bearer ${someKey.toUpperCase()}`,
      `Bearer ${someKey}0`,
      `Bearer ${someKey.slice(0, -1)}`,
      `Bearer ${someKey.slice(4)}`,
      `Bearer svc_${'g'.repeat(40)}`,
      `Bearer "${someKey}"`,
      `Bearer: ${someKey}`,
      `Token ${someKey}`,
      `Basic ${Buffer.from(`user:${someKey}`).toString('base64')}`,
      someKey,
      'null',
      'Bearer null',
      'Bearer svc_\u00e9',
      `Bearer ${'x'.repeat(5_000)}`,
    ];
    for (const authorization of authorizations) {
      it(`is the response to Authorization: ${authorization.slice(0, 60)}`, async () => {
        expectError(await service.request('GET', '/api/keys/', { headers: { authorization } }), 'invalid_api_key');
      });
    }

    for (const key of [someKey, 'x', `Bearer ${someKey}`, someKey.toUpperCase(), `${someKey}, ${someKey}`, 'svc_']) {
      it(`is the response to X-API-Key: ${key}`, async () => {
        expectError(await service.request('GET', '/api/keys/', { headers: { 'x-api-key': key } }), 'invalid_api_key');
      });
    }

    it('is the response to two headers with different keys, even if both are valid', async () => {
      const { body } = await customer.requestWithSession('POST', '/api/keys/create/', { body: { name: 'second' } });
      expectError(
        await customer.request('GET', '/api/keys/', { headers: { 'x-api-key': body.key } }),
        'invalid_api_key',
      );
      expectError(
        await customer.request('GET', '/api/keys/', { headers: { authorization: 'Bearer x', 'x-api-key': body.key } }),
        'invalid_api_key',
      );
      expect((await customer.request('GET', '/api/keys/', { headers: { 'x-api-key': customer.key } })).status).to.equal(
        200,
      );
      await service.sql(`UPDATE accounts SET key_count = 1, active_key_count = 1 WHERE email = $1`, [customer.email]);
      await service.sql(`DELETE FROM api_keys WHERE uuid = $1`, [body.uuid]);
    });

    it('does not distinguish an unknown key from a revoked one', async () => {
      const other = await service.createCustomer(null);
      const [{ uuid }] = (await other.requestWithSession('GET', '/api/keys/')).body.data;
      await other.requestWithSession('POST', `/api/keys/${uuid}/revoke/`);
      const unknown = await service.request('GET', '/api/keys/', { headers: { 'x-api-key': someKey } });
      expect((await other.request('GET', '/api/keys/')).body).to.deep.equal(unknown.body);
    });

    it('takes precedence over all other errors of the request', async () => {
      const stranger = new TestCustomer(service.baseUrl, '', '', someKey);
      expectError(await stranger.request('POST', CREATE, { rawBody: '{' }), 'invalid_api_key');
      expectError(await stranger.request('POST', CREATE, { rawBody: 'x'.repeat(100_000) }), 'invalid_api_key');
      expectError(await stranger.request('GET', '/api/generations/?page=0'), 'invalid_api_key');
      expectError(await stranger.request('GET', '/api/generations/none/'), 'invalid_api_key');
    });
  });

  it('errors never reveal internal details', async () => {
    const answers: ApiResponse[] = [
      await requests.create({}),
      await customer.readGeneration('x'),
      await service.request('GET', '/api/keys/'),
    ];
    for (const { body } of answers)
      expect(body.detail).to.not.match(/ajv|koa|knex|select|postgres|node_modules|\bat \//i);
  });
});
