import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { ACCEPT_JSON_OR_SSE, buildToolCall, openMcpSession, postMcp } from '../harness/mcpClient.ts';
import { eventually, useTestService } from '../harness/testService.ts';

/** Calls a tool and expects an error result. @returns its code. */
const callExpectingError = async (
  customer: TestCustomer,
  tool = 'generate_image',
  args: object = { prompt: 'x', resolution: '1K' },
) => {
  const session = await openMcpSession(customer);
  const { status, body } = await postMcp(customer, buildToolCall(tool, args), { headers: session });
  expect([status, body.result.isError]).to.deep.equal([200, true]);
  return body.result.structuredContent.error;
};

describe('MCP tool calls', () => {
  const service = useTestService();
  beforeEach(() => {
    service.upstream.outcome = 'succeed';
  });

  describe('errors that depend on the account', () => {
    it('returns subscription_required, parallel_limit_reached and insufficient_credits as tool errors', async () => {
      expect(await callExpectingError(await service.createCustomer(null))).to.equal('subscription_required');

      service.upstream.outcome = 'wait';
      const busy = await service.createCustomer('lite');
      const prompts = [await busy.createImage(), await busy.createImage()].map(({ prompt }) => prompt);
      expect(await callExpectingError(busy)).to.equal('parallel_limit_reached');
      for (const prompt of prompts) {
        await eventually('submitted', () => service.upstream.jobsFor(prompt).length === 1);
        service.upstream.end(prompt, 'succeeded');
      }

      service.upstream.outcome = 'succeed';
      const poor = await service.createCustomer('lite');
      for (const _ of [1, 2]) {
        const { body } = await poor.createGeneration({
          model: 'vidmodel-video',
          params: { duration: 10, resolution: '720p' },
        });
        await poor.waitForEnd(body.uuid);
      }
      const video = { prompt: 'x', duration: 10, resolution: '720p' };
      expect(await callExpectingError(poor, 'generate_video', video)).to.equal('insufficient_credits');
    });

    it('returns rate_limited as a tool error and limits creates separately from other calls', async () => {
      const api = await service.startApi({
        RATE_LIMITS: 'on',
        RATE_CREATES_PER_MINUTE: '1',
        RATE_REQUESTS_PER_MINUTE: '6',
      });
      service.apis.pop();
      try {
        const customer = (await service.createCustomer('pro')).on(api.baseUrl);
        const session = await openMcpSession(customer);
        const image = { prompt: 'x', resolution: '1K' };
        const first = await postMcp(customer, buildToolCall('generate_image', image, 1), { headers: session });
        expect(first.body.result.isError ?? false).to.equal(false);
        const second = await postMcp(customer, buildToolCall('generate_image', image, 2), { headers: session });
        expect(second.status).to.equal(200);
        expect(second.body.result.structuredContent.error).to.equal('rate_limited');
        expect(second.headers.get('ratelimit-policy')).to.match(/^"create";q=1/);
        const usage = await postMcp(customer, buildToolCall('get_usage', {}, 3), { headers: session });
        expect(usage.body.result.isError ?? false).to.equal(false);
        let last = usage;
        for (let id = 4; id < 10; id += 1) {
          last = await postMcp(customer, { jsonrpc: '2.0', id, method: 'ping' }, { headers: session });
        }
        expect([last.status, last.body.error]).to.deep.equal([429, 'rate_limited']);
        expect(last.headers.get('retry-after')).to.match(/^\d+$/);
      } finally {
        await api.kill();
      }
    });
  });

  describe('a retried call', () => {
    it('creates one generation for the same message id or the same idempotency key', async () => {
      const customer = await service.createCustomer('pro');
      const session = await openMcpSession(customer);
      const input = { prompt: 'once', resolution: '1K' };
      const send = (id: number | string, meta?: object, args: object = input) =>
        postMcp(customer, buildToolCall('generate_image', args, id, meta), { headers: session }).then(
          ({ body }) => body.result,
        );
      const before = await customer.balance();
      const [first, again, other] = [await send(7), await send(7), await send(8)];
      expect(again.structuredContent.uuid).to.equal(first.structuredContent.uuid);
      expect(again.content[0].text).to.match(/nothing more was charged/);
      expect(other.structuredContent.uuid).not.to.equal(first.structuredContent.uuid);
      expect(await customer.balance()).to.equal(before - 16);

      const keyed = { idempotencyKey: randomUUID() };
      const waiting = { ...input, wait_seconds: 30 };
      const [third, fourth] = [await send(9, keyed, waiting), await send(10, keyed, waiting)];
      expect(third.structuredContent.status).to.equal('succeeded');
      expect(fourth.structuredContent).to.deep.equal(third.structuredContent);
      expect(fourth.content[0].text).to.match(/created before by the same request: nothing more was charged/);
      expect(await customer.balance()).to.equal(before - 24);
      const mismatch = await send(11, keyed, { ...input, prompt: 'another' });
      expect(mismatch.structuredContent.error).to.equal('validation_error');

      // Some clients restart their message ids within a session: another input under the same id is a new request.
      const recounted = await send(7, undefined, { ...input, prompt: 'recounted' });
      expect(recounted.structuredContent.uuid).not.to.equal(first.structuredContent.uuid);
      // A retry of the new request returns the same generation.
      const repeated = await send(7, undefined, { ...input, prompt: 'recounted' });
      expect(repeated.structuredContent.uuid).to.equal(recounted.structuredContent.uuid);
      await customer.waitForEnd(recounted.structuredContent.uuid);
    });
  });

  it('responds with JSON or an event stream, depending on the Accept header', async () => {
    const customer = await service.createCustomer('pro');
    const session = await openMcpSession(customer);
    for (const [accept, type] of [
      [ACCEPT_JSON_OR_SSE, 'application/json'],
      ['application/json', 'application/json'],
      ['*/*', 'application/json'],
      ['text/event-stream', 'text/event-stream'],
    ] as const) {
      const response = await postMcp(customer, buildToolCall('get_usage'), { headers: { ...session, accept } });
      expect(response.headers.get('content-type')).to.match(new RegExp(`^${type}`));
      const message =
        type === 'application/json'
          ? response.body
          : JSON.parse(/^data: (.*)$/m.exec(response.body as string)?.[1] ?? '');
      expect([message.id, message.result.structuredContent.plan.slug]).to.deep.equal([1, 'pro']);
    }
    const progress = { progressToken: 'p' };
    service.upstream.outcome = 'wait';
    const { uuid, prompt } = await customer.createImage();
    const waiting = postMcp(customer, buildToolCall('get_generation', { uuid, wait_seconds: 2 }, 2, progress), {
      headers: session,
    });
    const text: string = (await waiting).body;
    expect(text).to.match(/notifications\/progress/);
    expect(text).to.include('"progressToken":"p"');
    await eventually('submitted', () => service.upstream.jobsFor(prompt).length === 1);
    service.upstream.end(prompt, 'succeeded');
    await customer.waitForEnd(uuid);
  });
});
