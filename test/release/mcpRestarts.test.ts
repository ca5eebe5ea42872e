import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { TestCustomer } from '../harness/apiClient.ts';
import { requireTestEnv } from '../harness/databases.ts';
import {
  ACCEPT_JSON_OR_SSE,
  buildToolCall,
  connectMcpClient,
  McpEventStream,
  openMcpSession,
  postMcp,
  buildStatelessCallHeaders,
  STATELESS_META,
} from '../harness/mcpClient.ts';
import { FaultProxy } from '../fakes/faultProxy.ts';
import { RoundRobinProxy } from '../harness/roundRobinProxy.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';

const hasUpdateFor = (uri: string) => (events: McpEventStream) =>
  events.messages.some(({ params }) => params.uri === uri);

describe('MCP across restarts and outages', () => {
  let service: TestService;
  let proxy: FaultProxy;
  let router: RoundRobinProxy;
  let redis: Redis;
  let customer: TestCustomer;
  before(async () => {
    redis = new Redis(requireTestEnv('TEST_REDIS_URL'));
    proxy = await new FaultProxy(requireTestEnv('TEST_REDIS_URL')).start();
    service = await startTestService({ apis: 2, redisUrl: proxy.url });
    router = await new RoundRobinProxy(() => service.baseUrls).start();
    customer = (await service.createCustomer('studio')).on(router.url);
  });
  beforeEach(() => {
    service.upstream.outcome = 'wait';
  });
  after(async () => {
    await router.stop();
    await service.stop();
    await proxy.stop();
    redis.disconnect();
  });

  /** Creates a generation that stays in progress until `end` is called. */
  const createPending = async (who = customer) => {
    const generation = await who.createImage(`watched ${randomUUID()}`);
    await eventually('submitted', () => service.upstream.jobsFor(generation.prompt).length === 1);
    return { ...generation, uri: `generation://${generation.uuid}` };
  };
  const end = async ({ uuid, prompt }: { uuid: string; prompt: string }) => {
    service.upstream.end(prompt, 'succeeded');
    await customer.waitForEnd(uuid);
  };
  const subscribe = (uri: string, headers: Record<string, string>, method = 'resources/subscribe') =>
    postMcp(customer, { jsonrpc: '2.0', id: randomUUID(), method, params: { uri } }, { headers });

  for (const how of ['stop', 'kill'] as const) {
    it(`an event stream resumes without loss after its process was ${how === 'stop' ? 'stopped' : 'killed'}`, async () => {
      const headers = await openMcpSession(customer);
      const [before, during, after] = await Promise.all([createPending(), createPending(), createPending()]);
      for (const { uri } of [before, during, after]) await subscribe(uri, headers);
      const api = await service.startApi();
      service.apis.splice(service.apis.indexOf(api), 1);
      const events = await McpEventStream.open(customer, headers, { baseUrl: api.baseUrl });
      await end(before);
      await events.waitFor('notified of the first', hasUpdateFor(before.uri));
      const startedAt = performance.now();
      await api[how]();
      expect(performance.now() - startedAt).to.be.below(scaleTimeout(3_000));
      await events.waitFor('ended', ({ isEnded: isOver }) => isOver);
      await end(during);
      const resumed = await McpEventStream.open(customer, headers, { lastEventId: events.lastEventId });
      await resumed.waitFor('notified of the end during the restart', hasUpdateFor(during.uri));
      await end(after);
      await resumed.waitFor('notified of the end after the restart', hasUpdateFor(after.uri));
      expect(resumed.messages.map(({ params }) => params.uri)).to.deep.equal([during.uri, after.uri]);
      resumed.close();
    });
  }

  for (const era of ['with a session', 'stateless'] as const) {
    it(`a waiting call gets its response when its process stops (${era})`, async () => {
      const api = await service.startApi();
      service.apis.splice(service.apis.indexOf(api), 1);
      const generation = await createPending();
      const args = { uuid: generation.uuid, wait_seconds: 45 };
      const isStateless = era === 'stateless';
      const headers = isStateless
        ? buildStatelessCallHeaders('get_generation')
        : await openMcpSession(customer.on(api.baseUrl));
      const meta = { progressToken: 1, ...(isStateless ? STATELESS_META : {}) };
      // The response starts with the first progress notification, so the call is waiting.
      const response = await fetch(new URL('/mcp', api.baseUrl), {
        method: 'POST',
        headers: {
          ...headers,
          accept: ACCEPT_JSON_OR_SSE,
          'content-type': 'application/json',
          authorization: `Bearer ${customer.key}`,
        },
        body: JSON.stringify(buildToolCall('get_generation', args, 1, meta)),
      });
      expect(await api.stop()).to.equal(0);
      expect(await response.text()).to.include('"status":"queued"');
      await end(generation);
    });
  }

  it('sessions end when Redis is emptied, and clients can start new ones', async () => {
    const headers = await openMcpSession(customer);
    const events = await McpEventStream.open(customer, headers);
    await events.waitFor('primed', ({ received }) => received.length > 0);
    const keys = await redis.keys(`{${service.env['REDIS_PREFIX']}}:mcp:*`);
    await redis.del(...keys);
    expect((await postMcp(customer, buildToolCall('get_usage'), { headers })).status).to.equal(404);
    const restarted = await openMcpSession(customer);
    expect((await postMcp(customer, buildToolCall('get_usage'), { headers: restarted })).status).to.equal(200);
    events.close();
  });

  it('sessions return 503 during a Redis outage and work after it, while stateless requests are served', async () => {
    const stateless = await connectMcpClient(customer, 'sdk 2, stateless');
    const headers = await openMcpSession(customer);
    proxy.refuse();
    try {
      const { status, body, headers: answered } = await postMcp(customer, buildToolCall('get_usage'), { headers });
      expect([status, body.error]).to.deep.equal([503, 'internal_error']);
      expect(answered.get('retry-after')).to.equal('2');
      const usage = await stateless.client.callTool({ name: 'get_usage', arguments: {} });
      expect(usage.structuredContent.plan.slug).to.equal('studio');
    } finally {
      proxy.open();
    }
    // Each process reconnects by itself.
    const isBack = async (baseUrl: string) =>
      (await postMcp(customer.on(baseUrl), buildToolCall('get_usage'), { headers })).status === 200;
    await eventually('every API is back', async () => (await Promise.all(service.baseUrls.map(isBack))).every(Boolean));
    await stateless.close();
  });

  it('an event stream ends within seconds when its API key is revoked', async () => {
    const other = (await service.createCustomer('pro')).on(router.url);
    const headers = await openMcpSession(other);
    const events = await McpEventStream.open(other, headers);
    await events.waitFor('primed', ({ received }) => received.length > 0);
    const direct = other.on(service.baseUrl);
    const { body } = await direct.requestWithSession('GET', '/api/keys/');
    await direct.requestWithSession('POST', `/api/keys/${body.data[0].uuid}/revoke/`);
    await events.waitFor('ended', ({ isEnded: isOver }) => isOver, 20_000);
  });
});
