import { expect } from 'chai';
import type { ApiResponse, RequestOptions, TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import {
  buildStatelessCallHeaders,
  buildToolCall,
  openMcpSession,
  postMcp,
  STATELESS_META,
} from '../harness/mcpClient.ts';
import { createRestrictedKey } from '../harness/restrictedKeys.ts';
import { useTestService } from '../harness/testService.ts';

const PING = { jsonrpc: '2.0', id: 5, method: 'ping' };
const LIST = { jsonrpc: '2.0', id: 6, method: 'tools/list' };

describe('MCP messages', () => {
  const service = useTestService({ workers: 0 });
  let customer: TestCustomer;
  let session: Record<string, string>;
  before(async () => {
    customer = await service.createCustomer('pro');
    session = await openMcpSession(customer);
  });

  const send = (message: unknown, options: RequestOptions = {}) =>
    postMcp(customer, message, { ...options, headers: { ...session, ...options.headers } });
  /** Calls a tool with params as raw JSON text. */
  const callRaw = (params: string) =>
    send(undefined, {
      rawBody: `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":${params}}`,
      headers: { 'content-type': 'application/json' },
    });
  const codes = async (message: object) => (await send({ jsonrpc: '2.0', id: 1, ...message })).body.error.code;

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
    const responses = await Promise.all(ids.map((id) => send({ ...PING, id })));
    expect(responses.map(({ body }) => body.id)).to.deep.equal(ids);
  });

  it('unknown methods and invalid params return JSON-RPC errors', async () => {
    expect(await codes({ method: 'nothing/here' })).to.equal(-32_601);
    expect(await codes({ method: 'prompts/list' })).to.equal(-32_601);
    expect(await codes({ method: 'tools/call', params: {} })).to.equal(-32_602);
    expect(await codes({ method: 'tools/call', params: { name: 'none' } })).to.equal(-32_602);
    expect(await codes({ method: 'resources/read', params: { uri: 'file:///etc/passwd' } })).to.equal(-32_002);
    expect(await codes({ method: 'resources/list', params: { cursor: 'none' } })).to.equal(-32_602);
    expect(await codes({ method: 'tools/list', params: { cursor: 'next' } })).to.equal(-32_602);
  });

  it('malformed tool calls return JSON-RPC errors', async () => {
    const params = { name: 'get_usage', arguments: {} };
    const call = { method: 'tools/call', params };
    expect(await codes({ ...call, params: { ...params, arguments: null } })).to.equal(-32_602);
    expect(await codes({ ...call, params: { ...params, arguments: [] } })).to.equal(-32_602);
    expect(await codes({ ...call, params: { ...params, name: 1 } })).to.equal(-32_602);
    expect(await codes({ ...call, id: 1.5 })).to.equal(-32_600);
    expect(await codes({ ...call, jsonrpc: '1.0' })).to.equal(-32_600);
    expect(await codes({ ...call, extra: 1 })).to.equal(-32_600);
    const { status } = await send(
      { ...call, jsonrpc: '2.0', id: 1 },
      { headers: { 'mcp-protocol-version': '2026-07-28' } },
    );
    expect(status).to.equal(400);
  });

  it('params of thousands of levels are a JSON-RPC error, in a tool call and in any other message', async () => {
    const deep = '['.repeat(9_000) + ']'.repeat(9_000);
    for (const body of [
      `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"generate_image","arguments":{"prompt":${deep}}}}`,
      `{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"capabilities":{"experimental":${deep}}}}`,
    ]) {
      const options = { rawBody: body, headers: { 'content-type': 'application/json' } };
      const { status, body: answer } = await send(undefined, options);
      expect([status, answer.error.code]).to.deep.equal([400, -32_700]);
    }
  });

  it('invalid params return InvalidParams, with and without a session', async () => {
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
    const stateless = { jsonrpc: '2.0', id: 1, method: 'resources/list', params: { cursor: 5, _meta: STATELESS_META } };
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'resources/list' };
    expect((await postMcp(customer, stateless, { headers })).body.error.code).to.equal(-32_602);
    const unknown = buildToolCall('none', {}, 1, STATELESS_META);
    const refused = await postMcp(customer, unknown, { headers: buildStatelessCallHeaders('none') });
    expect(refused.body.error.code).to.equal(-32_602);
  });

  it('__proto__ is rejected as a field name anywhere and accepted within a text', async () => {
    for (const params of [
      '{"name":"get_usage","arguments":{"__proto__":{"a":1}}}',
      '{"name":"get_usage","arguments":{"\\u005F_proto\\u005f_":5}}',
      '{"name":"get_usage","arguments":{},"__proto__":{"name":"generate_image"}}',
    ]) {
      const { status, body } = await callRaw(params);
      expect([status, body.id, body.error?.code], params).to.deep.equal([400, 5, -32_600]);
      expect(body.error.message).to.equal('__proto__ is not a known field.');
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

  it('a key without svc:read lists no generations over MCP, neither as resources nor as completions', async () => {
    const restricted = await createRestrictedKey(service, customer, { scopes: ['svc:write'] });
    const headers = await openMcpSession(restricted.customer);
    const ref = { type: 'ref/resource', uri: 'generation://{uuid}' };
    const calls = {
      'resources/list': {},
      'completion/complete': { ref, argument: { name: 'uuid', value: '' } },
    };
    for (const [method, params] of Object.entries(calls)) {
      const response = await postMcp(restricted.customer, { jsonrpc: '2.0', id: 1, method, params }, { headers });
      expectError(response, 'insufficient_scope', 'svc:read');
    }
  });
});
