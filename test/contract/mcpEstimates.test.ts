import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { buildToolCall, describeWithClients, openMcpSession, postMcp } from '../harness/mcpClient.ts';
import { seedImages, setAllModelsOnline } from '../harness/seeds.ts';
import { useTestService } from '../harness/testService.ts';

const IMAGE_CALL = { prompt: 'a lighthouse', resolution: '1K' };
const VIDEO_CALL = { prompt: 'waves', duration: 10, resolution: '720p' };

/** Calls `generate_image` in a session of its own. */
async function call(customer: TestCustomer, args: object): Promise<{ headers: Headers; result: any }> {
  const headers = await openMcpSession(customer);
  const response = await postMcp(customer, buildToolCall('generate_image', args), { headers });
  return { headers: response.headers, result: response.body.result };
}

describe('MCP: dry_run', () => {
  const service = useTestService({
    workers: 0,
    env: { RATE_LIMITS: 'on', RATE_CREATES_PER_MINUTE: '3', RATE_REQUESTS_PER_MINUTE: '60' },
  });
  before(() => setAllModelsOnline(service));

  describeWithClients({ getService: () => service, plan: 'pro' }, (connected) => {
    const { use } = connected;

    it('is an optional boolean of both tools that create a generation', async () => {
      const { tools } = await connected.client.listTools();
      expect(tools).to.have.length(5);
      for (const { name: tool, inputSchema } of tools) {
        expect(inputSchema.properties.dry_run?.type, tool).to.equal(
          tool.startsWith('generate_') ? 'boolean' : undefined,
        );
        expect(inputSchema.required ?? []).not.to.include('dry_run');
      }
    });

    it('returns the same estimate as REST, creates and charges nothing', async () => {
      const { prompt, ...params } = VIDEO_CALL;
      const estimated = await connected.customer.request('POST', '/api/generations/estimate/', {
        body: { model: 'vidmodel-video', prompt, params },
      });
      const { isError, structuredContent, content } = await use('generate_video', { ...VIDEO_CALL, dry_run: true });
      const { next, ...estimate } = structuredContent;
      expect(isError ?? false).to.equal(false);
      expect(estimate).to.deep.equal(estimated.body);
      expect(estimate).to.deep.include({ credits: 70, balance: 1100, balance_after: 1030, refusal: null });
      expect(content[0].text).to.match(/70 credits.*1100.*Nothing was created or charged\./);
      expect(next).to.match(/without dry_run/);
      expect(await connected.customer.ledger()).to.deep.equal([['grant', 1100]]);
    });

    it('false creates the generation, whose price was estimated', async () => {
      const { structuredContent: estimate } = await use('generate_image', { ...IMAGE_CALL, dry_run: true });
      const { structuredContent: created } = await use('generate_image', { ...IMAGE_CALL, dry_run: false });
      expect(created.credits_charged).to.equal(estimate.credits);
      expect(created.params).to.deep.equal(estimate.params);
      expect(created).not.to.have.property('dry_run');
      expect(await connected.customer.balance()).to.equal(estimate.balance_after);
    });
  });

  it('returns the error of a create as part of the estimate', async () => {
    const customer = await service.createCustomer('lite');
    await seedImages(service, customer, 195);
    const { result } = await call(customer, { ...IMAGE_CALL, dry_run: true });
    expect(result.isError ?? false).to.equal(false);
    expect(result.structuredContent).to.deep.include({ credits: 8, balance: 5, balance_after: -3, affordable: false });
    expect(result.structuredContent.refusal.error).to.equal('insufficient_credits');
    expect(result.content[0].text).to.include(result.structuredContent.refusal.detail);
    const refused = await call(customer, IMAGE_CALL);
    expect(refused.result.structuredContent).to.deep.equal(result.structuredContent.refusal);
  });

  it('rejects invalid arguments, and values that are not a boolean', async () => {
    const customer = await service.createCustomer('pro');
    for (const args of [
      { ...IMAGE_CALL, dry_run: 'true' },
      { ...IMAGE_CALL, dry_run: 1 },
      { ...IMAGE_CALL, dry_run: null },
      { ...IMAGE_CALL, resolution: '3K', dry_run: true },
    ]) {
      const { isError, structuredContent } = (await call(customer, args)).result;
      expect([isError, structuredContent.error], JSON.stringify(args)).to.deep.equal([true, 'validation_error']);
    }
    expect(await customer.balance()).to.equal(1100);
  });

  it('counts as a read and not as a create', async () => {
    const customer = await service.createCustomer('pro');
    for (let index = 0; index < 5; index += 1) {
      const { headers, result } = await call(customer, { ...IMAGE_CALL, dry_run: true });
      expect(headers.get('ratelimit-policy')).to.equal('"account";q=60;w=60');
      expect(result.structuredContent.credits).to.equal(8);
    }
    const created = await call(customer, IMAGE_CALL);
    expect(created.result.structuredContent.status).to.equal('queued');
    await call(customer, { ...IMAGE_CALL, dry_run: false });
    await call(customer, { ...IMAGE_CALL, dry_run: false });
    const fourth = await call(customer, { ...IMAGE_CALL, dry_run: false });
    expect(fourth.result.structuredContent.error).to.equal('rate_limited');
  });
});
