import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { connectMcpClient, McpEventStream, openMcpSession, postMcp } from '../harness/mcpClient.ts';
import { RoundRobinProxy } from '../harness/roundRobinProxy.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';

const UPDATED = 'notifications/resources/updated';
const hasUpdateFor = (uri: string) => (events: McpEventStream) =>
  events.messages.some(({ params }) => params.uri === uri);

describe('MCP across several processes', () => {
  let service: TestService;
  let router: RoundRobinProxy;
  let customer: TestCustomer;
  before(async () => {
    service = await startTestService({ apis: 2 });
    router = await new RoundRobinProxy(() => service.baseUrls).start();
    customer = (await service.createCustomer('studio')).on(router.url);
  });
  beforeEach(() => {
    service.upstream.outcome = 'wait';
  });
  after(async () => {
    await router.stop();
    await service.stop();
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

  it('one session works on all processes at once', async () => {
    const assistant = await connectMcpClient(customer);
    const from = router.served.length;
    const usages = await Promise.all(
      Array.from({ length: 10 }, () => assistant.client.callTool({ name: 'get_usage', arguments: {} })),
    );
    expect(new Set(usages.map((usage: any) => JSON.stringify(usage.structuredContent))).size).to.equal(1);
    expect(new Set(router.served.slice(from)).size).to.equal(2);
    await assistant.close();
  });

  it('the official client is notified when a subscribed generation ends', async () => {
    for (const name of ['sdk 1', 'sdk 2'] as const) {
      const assistant = await connectMcpClient(customer, name);
      const generation = await createPending();
      const notified = new Promise<any>((resolve) => {
        assistant.client.fallbackNotificationHandler = async (notification: any) => resolve(notification);
      });
      await assistant.client.subscribeResource({ uri: generation.uri });
      await end(generation);
      const { method, params } = await notified;
      expect([method, params.uri]).to.deep.equal([UPDATED, generation.uri]);
      await assistant.close();
    }
  });

  it('a stateless client is notified on its own stream about its own generations only', async () => {
    const assistant = await connectMcpClient(customer, 'sdk 2, stateless');
    const otherCustomer = await service.createCustomer('pro');
    const [mine, theirs] = await Promise.all([createPending(), createPending(otherCustomer)]);
    const received: string[] = [];
    const notified = new Promise<void>((resolve) => {
      assistant.client.setNotificationHandler(UPDATED, ({ params }: any) => {
        received.push(params.uri);
        if (params.uri === mine.uri) resolve();
      });
    });
    const subscription = await assistant.client.listen({ resourceSubscriptions: [theirs.uri, mine.uri] });
    expect(subscription.honoredFilter.resourceSubscriptions).to.deep.equal([mine.uri]);
    service.upstream.end(theirs.prompt, 'succeeded');
    await otherCustomer.waitForEnd(theirs.uuid);
    await end(mine);
    await notified;
    expect(received).to.deep.equal([mine.uri]);
    await assistant.close();
  });

  it('a notification is delivered once, and stored for a client without an open stream', async () => {
    const headers = await openMcpSession(customer);
    const [first, second] = await Promise.all([createPending(), createPending()]);
    for (const { uri } of [first, second]) expect((await subscribe(uri, headers)).body.result).to.deep.equal({});
    await end(first);
    // The first stream carries events that were stored before it was opened.
    const events = await McpEventStream.open(customer, headers);
    await events.waitFor('notified of the first', hasUpdateFor(first.uri));
    await end(second);
    await events.waitFor('notified of the second', hasUpdateFor(second.uri));
    expect(events.messages.map(({ params }) => params.uri)).to.deep.equal([first.uri, second.uri]);
    events.close();
    // Sent events are not sent again, unless the client resumes from an earlier event id.
    const again = await McpEventStream.open(customer, headers);
    await again.waitFor('primed', ({ received }) => received.length > 0);
    const resumed = await McpEventStream.open(customer, headers, { lastEventId: events.received[1]?.id });
    await resumed.waitFor('notified of the second again', hasUpdateFor(second.uri));
    expect(resumed.messages.map(({ params }) => params.uri)).to.deep.equal([second.uri]);
    // Only the newest stream of a session is served.
    await again.waitFor('ended', ({ isEnded: isOver }) => isOver);
    expect(again.messages).to.deep.equal([]);
    resumed.close();
  });

  it('a subscription to an ended generation is notified immediately, and a removed subscription is not', async () => {
    const headers = await openMcpSession(customer);
    const [ended, watched, unwatched] = await Promise.all([createPending(), createPending(), createPending()]);
    await end(ended);
    const events = await McpEventStream.open(customer, headers);
    await subscribe(ended.uri, headers);
    await events.waitFor('notified of the ended', hasUpdateFor(ended.uri));
    await subscribe(unwatched.uri, headers);
    await subscribe(watched.uri, headers);
    await subscribe(unwatched.uri, headers, 'resources/unsubscribe');
    await Promise.all([end(unwatched), end(watched)]);
    await events.waitFor('notified of the subscribed', hasUpdateFor(watched.uri));
    expect(events.messages.map(({ params }) => params.uri)).to.deep.equal([ended.uri, watched.uri]);
    events.close();
  });

  it('an event stream ends when its session is deleted through another process', async () => {
    const headers = await openMcpSession(customer);
    const events = await McpEventStream.open(customer, headers, { baseUrl: service.baseUrls[0] as string });
    await customer.on(service.baseUrls[1] as string).request('DELETE', '/mcp', { headers });
    await events.waitFor('ended', ({ isEnded: isOver }) => isOver);
    expect((await McpEventStream.open(customer, headers)).status).to.equal(404);
  });
});
