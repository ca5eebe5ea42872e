import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { Customer } from '../harness/client.ts';
import { setting } from '../harness/databases.ts';
import { BOTH, call, connectAssistant, Events, openSession, post, STATELESS_META } from '../harness/mcp.ts';
import { Proxy } from '../../dev/servers/proxy.ts';
import { RoundRobin } from '../harness/roundRobin.ts';
import { eventually, type Service, startService } from '../harness/service.ts';
import { scaled } from '../harness/speed.ts';

const STATELESS_CALL: Record<string, string> = {
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'get_generation',
};
const isTold = (uri: string) => (events: Events) => events.messages.some(({ params }) => params.uri === uri);

describe('MCP through restarts and outages', () => {
  let service: Service;
  let proxy: Proxy;
  let router: RoundRobin;
  let redis: Redis;
  let customer: Customer;
  before(async () => {
    redis = new Redis(setting('TEST_REDIS_URL'));
    proxy = await new Proxy(setting('TEST_REDIS_URL')).start();
    service = await startService({ apis: 2, redisUrl: proxy.url });
    router = await new RoundRobin(() => service.baseUrls).start();
    customer = (await service.customer('studio')).via(router.url);
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

  /** A generation that is under way until it is told to end. */
  const underWay = async (who = customer) => {
    const generation = await who.createImage(`watched ${randomUUID()}`);
    await eventually('submitted', () => service.upstream.jobsFor(generation.prompt).length === 1);
    return { ...generation, uri: `generation://${generation.uuid}` };
  };
  const end = async ({ uuid, prompt }: { uuid: string; prompt: string }) => {
    service.upstream.end(prompt, 'succeeded');
    await customer.settled(uuid);
  };
  const subscribe = (uri: string, headers: Record<string, string>, method = 'resources/subscribe') =>
    post(customer, { jsonrpc: '2.0', id: randomUUID(), method, params: { uri } }, { headers });

  for (const how of ['stop', 'kill'] as const) {
    it(`goes on where it was after its process was ${how === 'stop' ? 'stopped' : 'killed'}`, async () => {
      const headers = await openSession(customer);
      const [before, meanwhile, after] = await Promise.all([underWay(), underWay(), underWay()]);
      for (const { uri } of [before, meanwhile, after]) await subscribe(uri, headers);
      const api = await service.startApi();
      service.apis.splice(service.apis.indexOf(api), 1);
      const events = await Events.open(customer, headers, { baseUrl: api.baseUrl });
      await end(before);
      await events.until('told of the first', isTold(before.uri));
      const startedAt = performance.now();
      await api[how]();
      expect(performance.now() - startedAt).to.be.below(scaled(3_000));
      await events.until('ended', ({ isOver }) => isOver);
      await end(meanwhile);
      const resumed = await Events.open(customer, headers, { lastEventId: events.lastEventId });
      await resumed.until('told of what happened meanwhile', isTold(meanwhile.uri));
      await end(after);
      await resumed.until('told of what came after', isTold(after.uri));
      expect(resumed.messages.map(({ params }) => params.uri)).to.deep.equal([meanwhile.uri, after.uri]);
      resumed.close();
    });
  }

  for (const era of ['in a session', 'stateless'] as const) {
    it(`a call that waits is answered, and its process stops: ${era}`, async () => {
      const api = await service.startApi();
      service.apis.splice(service.apis.indexOf(api), 1);
      const generation = await underWay();
      const args = { uuid: generation.uuid, wait_seconds: 45 };
      const isStateless = era === 'stateless';
      const headers = isStateless ? STATELESS_CALL : await openSession(customer.via(api.baseUrl));
      const meta = { progressToken: 1, ...(isStateless ? STATELESS_META : {}) };
      // The answer begins with the first report of progress: the wait is under way.
      const response = await fetch(new URL('/mcp', api.baseUrl), {
        method: 'POST',
        headers: {
          ...headers,
          accept: BOTH,
          'content-type': 'application/json',
          authorization: `Bearer ${customer.key}`,
        },
        body: JSON.stringify(call('get_generation', args, 1, meta)),
      });
      expect(await api.stop()).to.equal(0);
      expect(await response.text()).to.include('"status":"queued"');
      await end(generation);
    });
  }

  it('a wait ends when it is cancelled', async () => {
    const direct = customer.via(service.baseUrls[0] as string);
    const headers = await openSession(direct);
    const generation = await underWay();
    const waiting = post(direct, call('get_generation', { uuid: generation.uuid, wait_seconds: 45 }, 'w'), { headers });
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'w' } };
    await eventually('cancelled', async () => {
      await post(direct, cancel, { headers });
      return Promise.race([waiting.then(() => true), new Promise<boolean>((no) => setTimeout(no, 50, false))]);
    });
    expect((await waiting).status).to.equal(202);
    await end(generation);
  });

  it('an emptied Redis ends sessions: the client is told to begin anew', async () => {
    const headers = await openSession(customer);
    const events = await Events.open(customer, headers);
    await events.until('primed', ({ received }) => received.length > 0);
    const keys = await redis.keys(`{${service.env['REDIS_PREFIX']}}:mcp:*`);
    await redis.del(...keys);
    expect((await post(customer, call('get_usage'), { headers })).status).to.equal(404);
    const anew = await openSession(customer);
    expect((await post(customer, call('get_usage'), { headers: anew })).status).to.equal(200);
    events.close();
  });

  it('while Redis is away sessions are a 503 at once, and go on when it is back; the stateless era is served', async () => {
    const stateless = await connectAssistant(customer, 'sdk 2, stateless');
    const headers = await openSession(customer);
    proxy.refuse();
    try {
      const { status, body, headers: answered } = await post(customer, call('get_usage'), { headers });
      expect([status, body.error]).to.deep.equal([503, 'internal_error']);
      expect(answered.get('retry-after')).to.match(/^\d+$/);
      const usage = await stateless.client.callTool({ name: 'get_usage', arguments: {} });
      expect(usage.structuredContent.plan.slug).to.equal('studio');
    } finally {
      proxy.open();
    }
    await eventually('back', async () => (await post(customer, call('get_usage'), { headers })).status === 200);
    await stateless.close();
  });

  it('a stream ends within seconds when its key is revoked', async () => {
    const other = (await service.customer('pro')).via(router.url);
    const headers = await openSession(other);
    const events = await Events.open(other, headers);
    await events.until('primed', ({ received }) => received.length > 0);
    const direct = other.via(service.baseUrl);
    const { body } = await direct.browse('GET', '/api/keys/');
    await direct.browse('POST', `/api/keys/${body.data[0].uuid}/revoke/`);
    await events.until('ended', ({ isOver }) => isOver, 20_000);
  });
});
