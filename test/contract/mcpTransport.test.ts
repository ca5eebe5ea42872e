import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { ApiResponse, TestCustomer, RequestOptions } from '../harness/apiClient.ts';
import { requireTestEnv } from '../harness/databases.ts';
import {
  ACCEPT_JSON_OR_SSE,
  buildToolCall,
  INITIALIZE,
  openMcpSession,
  postMcp,
  STATELESS_META,
} from '../harness/mcpClient.ts';
import { type TestService, startTestService } from '../harness/testService.ts';
import { sendRawRequest } from '../harness/rawRequest.ts';

const PING = { jsonrpc: '2.0', id: 5, method: 'ping' };
const LIST = { jsonrpc: '2.0', id: 6, method: 'tools/list' };

describe('MCP transport', () => {
  let service: TestService;
  let customer: TestCustomer;
  let session: Record<string, string>;
  before(async () => {
    service = await startTestService({
      workers: 0,
      env: { MCP_ALLOWED_ORIGINS: 'https://studio.example, https://two.example' },
    });
    customer = await service.createCustomer('pro');
    session = await openMcpSession(customer);
  });
  after(() => service.stop());

  const send = (message: unknown, options: RequestOptions = {}) =>
    postMcp(customer, message, { ...options, headers: { ...session, ...options.headers } });
  const get = (headers: Record<string, string>) => service.request('GET', '/mcp', { headers });
  const bearer = () => ({ authorization: `Bearer ${customer.key}` });

  const challenge = () => `Bearer resource_metadata="${service.baseUrl}/.well-known/oauth-protected-resource"`;
  const from = (origin: string) => send(PING, { headers: { origin } }).then(({ status }) => status);
  /** Calls a tool with params as raw JSON text. */
  const callRaw = (params: string) =>
    send(undefined, {
      rawBody: `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":${params}}`,
      headers: { 'content-type': 'application/json' },
    });
  const codes = async (message: object) => (await send({ jsonrpc: '2.0', id: 1, ...message })).body.error.code;

  describe('credentials', () => {
    for (const method of ['POST', 'GET', 'DELETE']) {
      it(`${method} without a credential returns 401 with the URL of the protected resource metadata`, async () => {
        const { status, headers, body } = await service.request(method, '/mcp', {
          headers: { accept: ACCEPT_JSON_OR_SSE },
        });
        expect([status, body.error]).to.deep.equal([401, 'invalid_api_key']);
        expect(headers.get('www-authenticate')).to.equal(challenge());
      });
    }

    for (const [what, authorization] of [
      ['an unknown API key', `Bearer svc_${'0'.repeat(40)}`],
      ['a bearer token that is not a key', 'Bearer nonsense'],
      ['another authorization scheme', 'Basic dGVzdA=='],
    ] as const) {
      it(`${what} returns 401`, async () => {
        const { status, headers } = await postMcp(customer, PING, { headers: { authorization } });
        expect(status).to.equal(401);
        expect(headers.get('www-authenticate')).to.match(/^Bearer .*resource_metadata="/);
      });
    }

    it('the session cookie does not authenticate a request', async () => {
      const { status } = await customer.requestWithSession('POST', '/mcp', {
        body: PING,
        headers: { accept: ACCEPT_JSON_OR_SSE },
      });
      expect(status).to.equal(401);
    });

    it('the credential is checked before the body is read', async () => {
      const { status } = await sendRawRequest(service.baseUrl, 'POST', '/mcp', {
        headers: { 'content-type': 'application/json', accept: ACCEPT_JSON_OR_SSE },
        body: '{'.repeat(200_000),
      });
      expect(status).to.equal(401);
    });

    it('a revoked API key is rejected immediately', async () => {
      const other = await service.createCustomer('pro');
      const headers = await openMcpSession(other);
      const { body } = await other.requestWithSession('GET', '/api/keys/');
      await other.requestWithSession('POST', `/api/keys/${body.data[0].uuid}/revoke/`);
      expect((await postMcp(other, PING, { headers })).status).to.equal(401);
    });
  });

  describe('the Origin', () => {
    it('requests are accepted without an Origin, from the service itself and from allowed origins', async () => {
      expect((await send(PING)).status).to.equal(200);
      expect(await from(new URL(service.baseUrl).origin)).to.equal(200);
      expect(await from('https://studio.example')).to.equal(200);
      expect(await from('https://two.example')).to.equal(200);
    });

    for (const origin of [
      'https://evil.example',
      'null',
      'http://studio.example',
      'https://studio.example.evil.example',
    ]) {
      it(`a request from the origin ${origin} returns 403, with and without a credential`, async () => {
        expect(await from(origin)).to.equal(403);
        const { status } = await service.request('POST', '/mcp', {
          body: PING,
          headers: { accept: ACCEPT_JSON_OR_SSE, origin },
        });
        expect(status).to.equal(403);
      });
    }
  });

  describe('sessions', () => {
    it('the least recently used session is evicted, and an ended session leaves the account’s list', async () => {
      const other = await service.createCustomer('pro');
      const redis = new Redis(requireTestEnv('TEST_REDIS_URL'));
      try {
        const live = await openMcpSession(other);
        const ended = await openMcpSession(other);
        const [id, endedId] = [live, ended].map((headers) => headers['mcp-session-id'] as string);
        const prefix = `{${service.env['REDIS_PREFIX']}}:mcp`;
        const [account] = await service.sql('SELECT id FROM accounts WHERE email = $1', [other.email]);
        const all = `${prefix}:account:${account.id}`;
        await other.request('DELETE', '/mcp', { headers: ended });
        expect(await redis.zscore(all, endedId as string)).to.equal(null);

        // Simulates a session that is older than a thousand others and was last used five minutes ago.
        const key = `${prefix}:session:${id}`;
        const stored = JSON.parse((await redis.get(key)) as string);
        await redis.set(key, JSON.stringify({ ...stored, touched: Date.now() - 300_000 }), 'KEEPTTL');
        await redis.zadd(all, 1, id as string);
        const others = Array.from({ length: 999 }, (_, index) => [Date.now() - 60_000, `other-${index}`]);
        await redis.zadd(all, ...others.flat());
        expect((await postMcp(other, PING, { headers: live })).status).to.equal(200);
        await openMcpSession(other);
        expect(await redis.zcard(all)).to.equal(1_000);
        expect((await postMcp(other, PING, { headers: live })).status).to.equal(200);
      } finally {
        redis.disconnect();
      }
    });

    it('initialize starts a session with the requested version, or with the latest one', async () => {
      for (const [asked, agreed] of [
        ['2025-11-25', '2025-11-25'],
        ['2025-06-18', '2025-06-18'],
        ['2025-03-26', '2025-03-26'],
        ['2024-11-05', '2024-11-05'],
        ['1999-01-01', '2025-11-25'],
      ] as const) {
        const params = { ...INITIALIZE.params, protocolVersion: asked };
        const { body, headers } = await postMcp(customer, { ...INITIALIZE, params });
        expect(body.result.protocolVersion).to.equal(agreed);
        expect(headers.get('mcp-session-id')).to.match(/^[\x21-\x7e]{32,}$/);
        expect(body.result.capabilities).to.deep.equal({ tools: {}, resources: { subscribe: true } });
        expect(body.result.instructions).to.match(/get_generation/);
      }
    });

    it('initialize without its required params starts no session', async () => {
      const { body, headers } = await postMcp(customer, { ...INITIALIZE, params: {} });
      expect(body.error.code).to.be.below(0);
      expect(headers.get('mcp-session-id')).to.equal(null);
    });

    it('a request without a session id returns 400, and with an unknown one 404', async () => {
      const { authorization } = bearer();
      expect((await postMcp(customer, PING)).status).to.equal(400);
      expect((await send(PING, { headers: { 'mcp-session-id': 'f'.repeat(48) } })).status).to.equal(404);
      expect((await get({ authorization, accept: 'text/event-stream' })).status).to.equal(400);
      expect((await customer.request('DELETE', '/mcp')).status).to.equal(400);
    });

    it('a session id of another account returns 404 and cannot end the session', async () => {
      const thief = await service.createCustomer('pro');
      const stolen = { ...session, authorization: `Bearer ${thief.key}` };
      expect((await postMcp(thief, buildToolCall('get_usage'), { headers: session })).status).to.equal(404);
      expect(
        (await service.request('GET', '/mcp', { headers: { ...stolen, accept: 'text/event-stream' } })).status,
      ).to.equal(404);
      expect((await service.request('DELETE', '/mcp', { headers: stolen })).status).to.equal(404);
      expect((await send(PING)).status).to.equal(200);
    });

    it('DELETE ends a session', async () => {
      const headers = await openMcpSession(customer);
      expect((await customer.request('DELETE', '/mcp', { headers })).status).to.equal(204);
      expect((await postMcp(customer, PING, { headers })).status).to.equal(404);
      expect((await customer.request('DELETE', '/mcp', { headers })).status).to.equal(404);
    });
  });

  describe('messages', () => {
    it('notifications and unsolicited responses return 202 without a body', async () => {
      for (const message of [
        { jsonrpc: '2.0', method: 'notifications/initialized' },
        { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 99 } },
        { jsonrpc: '2.0', id: 1, result: {} },
        { jsonrpc: '2.0', id: 1, error: { code: -1, message: 'no' } },
      ]) {
        const { status, body } = await send(message);
        expect([status, body], JSON.stringify(message)).to.deep.equal([202, undefined]);
      }
    });

    it('every response has the id of its request, whether it is a number or a string', async () => {
      const ids = [0, 1, -1, 'a', '1', '', 2 ** 40];
      const answers = await Promise.all(ids.map((id) => send({ ...PING, id })));
      expect(answers.map(({ body }) => body.id)).to.deep.equal(ids);
    });

    it('unknown methods and invalid params return JSON-RPC errors', async () => {
      expect(await codes({ method: 'nothing/here' })).to.equal(-32_601);
      expect(await codes({ method: 'prompts/list' })).to.equal(-32_601);
      expect(await codes({ method: 'tools/call', params: {} })).to.equal(-32_602);
      expect(await codes({ method: 'tools/call', params: { name: 'none' } })).to.equal(-32_602);
      expect(await codes({ method: 'resources/read', params: { uri: 'file:///etc/passwd' } })).to.equal(-32_002);
      expect(await codes({ method: 'resources/list', params: { cursor: 'none' } })).to.equal(-32_602);
    });

    it('params of a wrong type return InvalidParams, with and without a session', async () => {
      const messages: [string, object][] = [
        ['resources/read', { uri: 5 }],
        ['resources/read', {}],
        ['resources/subscribe', { uri: ['generation://'] }],
        ['resources/unsubscribe', { uri: null }],
        ['resources/list', { cursor: 5 }],
        ['tools/list', { cursor: {} }],
        ['tools/call', { name: 'get_usage', arguments: [] }],
      ];
      for (const [method, params] of messages) expect(await codes({ method, params }), method).to.equal(-32_602);
      expect(await codes({ method: 'resources/read' })).to.equal(-32_602);
      const stateless = {
        jsonrpc: '2.0',
        id: 1,
        method: 'resources/list',
        params: { cursor: 5, _meta: STATELESS_META },
      };
      const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'resources/list' };
      expect((await postMcp(customer, stateless, { headers })).body.error.code).to.equal(-32_602);
    });

    it('__proto__ is rejected as a field name anywhere and accepted within a text', async () => {
      for (const params of [
        '{"name":"get_usage","arguments":{"__proto__":{"a":1}}}',
        '{"name":"get_usage","arguments":{"\\u005F_proto\\u005f_":5}}',
        '{"name":"get_usage","arguments":{},"__proto__":{"name":"generate_image"}}',
      ]) {
        const { status, body } = await callRaw(params);
        expect([status, body.id, body.error?.code], params).to.deep.equal([400, 5, -32_600]);
        expect(body.error.message).to.equal('__proto__ is not known here.');
      }
      const text = '{"name":"get_generation","arguments":{"uuid":"__proto__ \\u0041"}}';
      expect((await callRaw(text)).body.result.structuredContent.error).to.equal('not_found');
    });

    const refused: [string, number, number, (send_: typeof send) => Promise<ApiResponse>][] = [
      ['a body of invalid JSON', 400, -32_700, (to) => to(undefined, { rawBody: '{"jsonrpc":' })],
      [
        'an empty body',
        400,
        -32_700,
        (to) => to(undefined, { rawBody: '', headers: { 'content-type': 'application/json' } }),
      ],
      ['a batch', 400, -32_600, (to) => to([PING, LIST])],
      ['an empty batch', 400, -32_600, (to) => to([])],
      ['a string', 400, -32_600, (to) => to('ping')],
      ['null', 400, -32_600, (to) => to(undefined, { rawBody: 'null' })],
      ['a JSON-RPC 1.0 message', 400, -32_600, (to) => to({ ...PING, jsonrpc: '1.0' })],
      ['a message without a JSON-RPC version', 400, -32_600, (to) => to({ id: PING.id, method: 'ping' })],
      ['a message with an id of null', 400, -32_600, (to) => to({ ...PING, id: null })],
      ['a message with a list as params', 400, -32_600, (to) => to({ ...PING, params: [1] })],
      ['a body of 65 KB', 413, -32_000, (to) => to({ ...PING, params: { text: 'x'.repeat(65 * 1024) } })],
      [
        'a form',
        415,
        -32_000,
        (to) => to(undefined, { rawBody: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
      ],
      ['plain text', 415, -32_000, (to) => to(undefined, { rawBody: '{}', headers: { 'content-type': 'text/plain' } })],
      ['an Accept header with neither type', 406, -32_000, (to) => to(PING, { headers: { accept: 'image/png' } })],
      [
        'an unsupported protocol version',
        400,
        -32_000,
        (to) => to(PING, { headers: { 'mcp-protocol-version': '1999-01-01' } }),
      ],
    ];
    for (const [what, status, code, request] of refused) {
      it(`${what} returns ${status}`, async () => {
        const { status: answered, body } = await request(send);
        expect([answered, body.error.code]).to.deep.equal([status, code]);
        expect(body.jsonrpc).to.equal('2.0');
        expect(body.id).to.be.oneOf([null, PING.id]);
        expect(body.error.message).to.be.a('string');
      });
    }

    it('a request without the version header is served', async () => {
      const { 'mcp-session-id': id } = session;
      expect((await postMcp(customer, PING, { headers: { 'mcp-session-id': id as string } })).status).to.equal(200);
    });

    it('a stateless request without its headers is rejected', async () => {
      const message = { ...LIST, params: { _meta: STATELESS_META } };
      expect((await postMcp(customer, message)).status).to.equal(400);
      const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
      const { status, body } = await postMcp(customer, message, { headers });
      expect([status, body.result.tools.length]).to.deep.equal([200, 5]);
      expect((await postMcp(customer, LIST, { headers })).status).to.equal(400);
    });
  });

  describe('GET', () => {
    it('GET in a browser returns the info page without a credential', async () => {
      const { status, headers, body } = await get({ accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
      expect(status).to.equal(200);
      expect(headers.get('content-type')).to.match(/^text\/html/);
      expect(headers.get('content-security-policy')).to.match(/^default-src 'none'/);
      expect(body)
        .to.include(`${service.baseUrl}/mcp`)
        .and.not.match(/<script/);
      for (const tool of ['generate_image', 'generate_video', 'get_generation', 'list_library', 'get_usage']) {
        expect(body).to.include(tool);
      }
    });

    it('GET without "Accept: text/event-stream" returns 406', async () => {
      expect((await get({ ...bearer(), ...session, accept: 'application/json' })).status).to.equal(406);
    });

    it('GET with a malformed Last-Event-ID returns 400', async () => {
      const headers = { ...bearer(), ...session, accept: 'text/event-stream', 'last-event-id': 'x; y' };
      expect((await get(headers)).status).to.equal(400);
    });
  });

  it('other methods return 404 with Allow', async () => {
    const { status, headers } = await customer.request('PUT', '/mcp', { body: PING });
    expect(status).to.equal(404);
    expect(headers.get('allow')).to.include('POST').and.include('GET').and.include('DELETE');
  });
});
