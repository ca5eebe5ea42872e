import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { TestCustomer, RequestOptions } from '../harness/apiClient.ts';
import { requireTestEnv } from '../harness/databases.ts';
import { ACCEPT_JSON_OR_SSE, INITIALIZE, McpEventStream, openMcpSession, postMcp } from '../harness/mcpClient.ts';
import { eventually, useTestService } from '../harness/testService.ts';
import { sendRawRequest } from '../harness/rawRequest.ts';

const PING = { jsonrpc: '2.0', id: 5, method: 'ping' };

describe('MCP transport', () => {
  const service = useTestService({
    workers: 0,
    env: { MCP_ALLOWED_ORIGINS: 'https://studio.example, https://two.example' },
  });
  let customer: TestCustomer;
  let session: Record<string, string>;
  before(async () => {
    customer = await service.createCustomer('pro');
    session = await openMcpSession(customer);
  });

  const send = (message: unknown, options: RequestOptions = {}) =>
    postMcp(customer, message, { ...options, headers: { ...session, ...options.headers } });
  const get = (headers: Record<string, string>) => service.request('GET', '/mcp', { headers });
  const bearer = () => ({ authorization: `Bearer ${customer.key}` });

  const from = (origin: string) => send(PING, { headers: { origin } }).then(({ status }) => status);

  it('the credential is checked before the body is read', async () => {
    const { status } = await sendRawRequest(service.baseUrl, 'POST', '/mcp', {
      headers: { 'content-type': 'application/json', accept: ACCEPT_JSON_OR_SSE },
      body: '{'.repeat(200_000),
    });
    expect(status).to.equal(401);
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

        // An open stream is a use, too.
        await redis.zadd(all, 1, id as string);
        const stream = await McpEventStream.open(other, live);
        await eventually('used by the stream', async () => Number(await redis.zscore(all, id as string)) > 1);
        stream.close();
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
        expect(body.result.capabilities).to.deep.equal({
          tools: {},
          resources: { subscribe: true },
          completions: {},
          extensions: { 'io.modelcontextprotocol/ui': {} },
        });
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

    it('DELETE ends a session', async () => {
      const headers = await openMcpSession(customer);
      expect((await customer.request('DELETE', '/mcp', { headers })).status).to.equal(204);
      expect((await postMcp(customer, PING, { headers })).status).to.equal(404);
      expect((await customer.request('DELETE', '/mcp', { headers })).status).to.equal(404);
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

    it('the info page has the effect and the price of each tool', async () => {
      const { body } = await get({ accept: 'text/html' });
      const text = (body as string).replaceAll(/<[^>]+>/g, '');
      for (const [line, advice] of [
        [/generate_image, 8 creditsCreates an image from a text prompt\./, 'Next, while it is queued'],
        [
          /generate_video, 35 credits for 5 seconds and 70 for 10Creates a video of 5 or 10 seconds/,
          'do not repeat it',
        ],
        [/get_generation, no creditsReturns the status of an image or video/, 'rather than often with 0'],
        [/list_library, no creditsLists the images and videos of the account/, 'If the uuid is known'],
        [/get_usage, no creditsReturns the credit balance/, 'insufficient_credits'],
      ] as const) {
        expect(text).to.match(line);
        expect(text).to.not.include(advice);
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
