import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { buildMcpHeaders } from '../../dev/local/mcpMessages.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { buildToolCall, openMcpSession } from '../harness/mcpClient.ts';
import { sendRawRequest } from '../harness/rawRequest.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

/** Metadata that no tool reads. A call with any is handled by the library, one without is not. */
const META = { 'example.org/note': 'x' };

describe('an MCP call without metadata', () => {
  let service: TestService;
  let customer: TestCustomer;
  let uuid: string;
  let headers: Record<string, string>;
  before(async () => {
    service = await startTestService();
    service.upstream.outcome = 'succeed';
    customer = await service.createCustomer('pro');
    ({ uuid } = await customer.createImage());
    await customer.waitForEnd(uuid);
    const session = await openMcpSession(customer);
    headers = { 'content-type': 'application/json', ...buildMcpHeaders(customer.key), ...session };
  });
  after(() => service.stop());

  const send = (message: object, more: Record<string, string> = {}) =>
    sendRawRequest(service.baseUrl, 'POST', '/mcp', {
      headers: { ...headers, ...more },
      body: JSON.stringify(message),
    });

  const calls: [what: string, tool: string, args: () => Record<string, unknown>][] = [
    ['get_usage', 'get_usage', () => ({})],
    ['get_usage with an unknown argument', 'get_usage', () => ({ days: 3, 7: null })],
    ['list_library', 'list_library', () => ({})],
    ['list_library with a wrong argument', 'list_library', () => ({ limit: 'many' })],
    ['get_generation with picture', 'get_generation', () => ({ uuid, include_thumbnail: true })],
    ['get_generation of an unknown uuid', 'get_generation', () => ({ uuid: '018f0000-0000-7000-8000-000000000000' })],
    ['an estimate', 'generate_image', () => ({ prompt: 'x', dry_run: true })],
    ['generate_image without a prompt', 'generate_image', () => ({})],
    ['an unknown tool', 'draw', () => ({})],
  ];
  for (const [what, tool, args] of calls) {
    it(`gets the same bytes as one that the library handles: ${what}`, async () => {
      for (const id of [1, 'one', 2 ** 40]) {
        const plain = await send(buildToolCall(tool, args(), id));
        const handled = await send(buildToolCall(tool, args(), id, META));
        expect(plain.status).to.equal(200);
        expect(plain.text).to.equal(handled.text);
        expect([...plain.headers.keys()]).to.deep.equal([...handled.headers.keys()]);
      }
    });
  }

  it('gets the same bytes as one that the library handles: without arguments', async () => {
    const [plain, handled] = await Promise.all(
      [{}, { _meta: META }].map((more) =>
        send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_usage', ...more } }),
      ),
    );
    expect(plain?.text).to.equal(handled?.text);
    expect(plain?.body.result.structuredContent.credits).to.be.an('object');
  });

  it('is rejected by the library if it is not one', async () => {
    const params = { name: 'get_usage', arguments: {} };
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    const getCode = async (changed: object) => (await send({ ...message, ...changed })).body.error?.code;
    expect(await getCode({ params: { ...params, arguments: null } })).to.equal(-32_602);
    expect(await getCode({ params: { ...params, arguments: [] } })).to.equal(-32_602);
    expect(await getCode({ params: { ...params, name: 1 } })).to.equal(-32_602);
    expect(await getCode({ id: 1.5 })).to.equal(-32_600);
    expect(await getCode({ jsonrpc: '1.0' })).to.equal(-32_600);
    expect(await getCode({ extra: 1 })).to.equal(-32_600);
    expect((await send(message, { 'mcp-protocol-version': '2026-07-28' })).status).to.equal(400);
  });

  it('ends when its request is cancelled', async () => {
    service.upstream.outcome = 'wait';
    const { uuid: waiting } = await customer.createImage();
    const id = randomUUID();
    const call = send(buildToolCall('get_generation', { uuid: waiting, wait_seconds: 45 }, id));
    const startedAt = performance.now();
    // Until the call has arrived, a cancellation has no effect.
    const cancelling = setInterval(() => {
      void send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
    }, 200);
    const { status } = await call;
    clearInterval(cancelling);
    expect(status).to.equal(202);
    expect(performance.now() - startedAt).to.be.below(5_000);
  });
});
