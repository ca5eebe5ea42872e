import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { ACCEPT_JSON_OR_SSE, buildToolCall, openMcpSession, postMcp, STATELESS_META } from '../harness/mcpClient.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { eventually, useTestService } from '../harness/testService.ts';

const RATE_PER_MINUTE = 200;

/** Builds resource URIs of generations that do not exist. */
const buildUris = (count: number) => Array.from({ length: count }, () => `generation://${randomUUID()}`);

describe('MCP limits', () => {
  const service = useTestService({
    workers: 0,
    env: { RATE_LIMITS: 'on', RATE_REQUESTS_PER_MINUTE: String(RATE_PER_MINUTE) },
  });
  let customer: TestCustomer;
  before(() => setAllModelsOnline(service));
  beforeEach(async () => {
    customer = await service.createCustomer('pro');
  });

  /** Opens a subscription stream, and closes it once its headers have arrived. */
  async function listen(resourceSubscriptions: string[]): Promise<number> {
    const aborting = new AbortController();
    const response = await fetch(`${service.baseUrl}/mcp`, {
      method: 'POST',
      headers: {
        accept: ACCEPT_JSON_OR_SSE,
        authorization: `Bearer ${customer.key}`,
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'subscriptions/listen',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'subscriptions/listen',
        params: { notifications: { resourceSubscriptions }, _meta: STATELESS_META },
      }),
      signal: aborting.signal,
    });
    aborting.abort();
    return response.status;
  }

  it('subscriptions/listen counts a generation once, even if it is repeated', async () => {
    const { uuid } = await customer.createImage();
    const uri = `generation://${uuid}`;
    const repeated = Array.from({ length: 100 }, () => uri);
    const statuses = [];
    for (let times = 0; times < 5; times += 1) statuses.push(await listen(repeated));
    expect(statuses).to.deep.equal([200, 200, 200, 200, 200]);
  });

  it('subscriptions/listen counts each distinct generation as a request', async () => {
    const statuses = [await listen(buildUris(90)), await listen(buildUris(90)), await listen(buildUris(90))];
    expect(statuses).to.deep.equal([200, 200, 429]);
  });

  it('a cancelled request returns 202 without a body', async () => {
    const { uuid } = await customer.createImage();
    const headers = await openMcpSession(customer);
    const waiting = fetch(`${service.baseUrl}/mcp`, {
      method: 'POST',
      headers: {
        ...headers,
        accept: 'application/json',
        authorization: `Bearer ${customer.key}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(buildToolCall('get_generation', { uuid, wait_seconds: 20 }, 'waiting')),
    });
    let answered = false;
    void waiting.then(() => (answered = true));
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'waiting' } };
    await eventually('cancelled', async () => {
      expect((await postMcp(customer, cancel, { headers })).status).to.equal(202);
      return answered;
    });
    const response = await waiting;
    expect([response.status, response.headers.get('content-type'), await response.text()]).to.deep.equal([
      202,
      null,
      '',
    ]);
  });
});
