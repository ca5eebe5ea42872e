import { expect } from 'chai';
import { modelMarginRatio } from '../../shared/lib/metrics.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { connectMcpClient, type McpTestClient } from '../harness/mcpClient.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

const RESOLUTION = { enum: ['1K', '2K'], default: '1K' };
const image = (name: string, more: object = {}) => ({
  name,
  kind: 'image',
  description: `${name} from a text prompt.`,
  upstreams: ['fal:acme/images'],
  params: { resolution: RESOLUTION, aspect_ratio: { enum: ['1:1', '16:9'], default: '1:1' } },
  credits: { $by: 'resolution', '1K': 3, '2K': 5 },
  ...more,
});

const CATALOG = JSON.stringify({
  models: {
    'photo-1': image('Photos', { sort_order: 2 }),
    'draft-1': image('Drafts', {
      sort_order: 1,
      uuid: 'b0000000-0000-4000-8000-000000000007',
      deprecated_at: '2027-06-01',
      credits: 1,
      params: {
        resolution: { enum: ['1K'], default: '1K' },
        aspect_ratio: { enum: ['1:1'], default: '1:1' },
        steps: { type: 'integer', minimum: 1, maximum: 50, description: 'Number of steps.' },
      },
    }),
    'internal-1': image('Internal images', { hidden: true, credits: 2 }),
  },
});

describe('a service with a configured catalog', () => {
  let service: TestService;
  let customer: TestCustomer;
  let mcp: McpTestClient;
  before(async () => {
    service = await startTestService({ env: { CATALOG } });
    customer = await service.createCustomer();
    mcp = await connectMcpClient(customer);
  });
  after(async () => {
    await mcp.close();
    await service.stop();
  });

  const call = (args: object) =>
    mcp.client.callTool({ name: 'generate_image', arguments: { prompt: 'A map', ...args } });

  const create = (model: string, params: object) => customer.createGeneration({ model, params });

  it('lists the models that are not hidden in their order, with prices, inputs and a JSON Schema', async () => {
    const { data } = (await service.request('GET', '/api/models/')).body;
    expect(data.map(({ slug }: { slug: string }) => slug)).to.deep.equal(['draft-1', 'photo-1']);
    const [draft, photo] = data;
    expect(draft).to.deep.include({
      uuid: 'b0000000-0000-4000-8000-000000000007',
      credits_base: 1,
      deprecated_at: '2027-06-01T00:00:00.000Z',
      inputs: {},
      pricing: { min_credits: 1, max_credits: 1, formula: 1 },
    });
    expect(draft.params_schema).to.deep.equal({
      resolutions: ['1K'],
      aspect_ratios: ['1:1'],
      steps: { type: 'integer', minimum: 1, maximum: 50 },
      type: 'object',
      required: [],
      properties: {
        resolution: { type: 'string', enum: ['1K'], default: '1K' },
        aspect_ratio: { type: 'string', enum: ['1:1'], default: '1:1' },
        steps: { type: 'integer', minimum: 1, maximum: 50, description: 'Number of steps.' },
      },
      additionalProperties: false,
    });
    expect(photo).to.deep.include({ credits_base: 3, deprecated_at: null });
    expect(photo.pricing).to.include({ min_credits: 3, max_credits: 5 });
  });

  it('accepts hidden and deprecated models in creates, and rejects the default ones', async () => {
    for (const [model, credits] of [
      ['internal-1', 2],
      ['draft-1', 1],
    ] as const) {
      const { status, body } = await create(model, {});
      expect([status, body.model, body.credits_charged]).to.deep.equal([201, model, credits]);
      expect((await customer.waitForEnd(body.uuid)).status).to.equal('succeeded');
    }
    const { status, body } = await create('imgmodel-2', { resolution: '1K' });
    expect([status, body.detail]).to.deep.equal([400, 'model must be one of: draft-1, photo-1.']);
  });

  it('validates parameters by the model, and keeps those that were left out absent', async () => {
    const { body } = await create('draft-1', {});
    expect(body.params).to.deep.equal({ resolution: '1K', aspect_ratio: '1:1' });
    const rejections = [
      [{ steps: 51 }, 'params.steps must be at most 50.'],
      [{ steps: 1.5 }, 'params.steps must be an integer.'],
      [{ resolution: '2K' }, 'params.resolution must be one of: 1K.'],
      [{ duration: 5 }, 'params.duration is not a known field.'],
    ] as const;
    for (const [params, detail] of rejections)
      expect((await create('draft-1', params)).body).to.deep.equal({ error: 'validation_error', detail });
  });

  it('offers the models of a kind as an argument of its tool, and no tool for a kind without a model', async () => {
    const { tools } = await mcp.client.listTools();
    expect(tools.map(({ name }: { name: string }) => name)).to.deep.equal([
      'generate_image',
      'get_generation',
      'list_library',
      'get_usage',
    ]);
    const [tool] = tools;
    expect(tool.description).to.include(
      'Models: draft-1 (Drafts: Drafts from a text prompt; 1 credit); photo-1 (Photos: Photos from a text prompt; 3 to 5 credits).',
    );
    expect(tool.description).to.not.include('generate_video');
    expect(tool.inputSchema.required).to.deep.equal(['prompt']);
    expect(tool.inputSchema.properties.model.enum).to.deep.equal(['draft-1', 'photo-1']);
    expect(tool.inputSchema.properties.resolution).to.deep.equal({
      anyOf: [
        { type: 'string', enum: ['1K'] },
        { type: 'string', enum: ['1K', '2K'] },
      ],
      description: 'Size of the image: 1K is about 1,000 pixels a side, 2K is about 2,000.',
    });
    expect(tool.inputSchema.properties.steps.description).to.equal('Number of steps. Only draft-1.');
    expect(tools.at(-1).description).to.include('An image costs 1 to 5 credits.');
  });

  it('creates with the chosen model over MCP, by default with the first one, and rejects parameters of another', async () => {
    const first = await call({});
    expect(first.structuredContent).to.include({ model: 'draft-1', credits_charged: 1 });
    const second = await call({ model: 'photo-1', resolution: '2K' });
    expect(second.structuredContent).to.include({ model: 'photo-1', credits_charged: 5 });
    const wrong = await call({ model: 'photo-1', steps: 5 });
    expect(wrong.isError).to.equal(true);
    expect(wrong.structuredContent).to.deep.equal({ error: 'validation_error', detail: 'steps is not a known field.' });
  });

  it('describes its models in the OpenAPI document', async () => {
    const { body } = await service.request('GET', '/api/openapi.json');
    const { model } =
      body.paths['/api/generations/create/'].post.requestBody.content['application/json'].schema.properties;
    expect(model.enum).to.deep.equal(['draft-1', 'photo-1']);
  });
});

describe('the margins of a catalog', () => {
  it('are the smallest ones at the rate of the cheapest plan, and negative for a model that loses money', async () => {
    const models = { 'photo-1': image('Photos'), 'draft-1': image('Drafts', { upstreams: ['fal:acme/drafts'] }) };
    const costs = {
      'fal:acme/images': { cents: { $by: 'resolution', '1K': 3.75, '2K': 3.75 } },
      'fal:acme/drafts': { cents: 15 },
    };
    const { computeMargins } = await import('../../shared/gateways/upstreams/margins.ts');
    const service = await startTestService({
      env: { CATALOG: JSON.stringify({ models }), UPSTREAMS: JSON.stringify({ models: costs }) },
    });
    try {
      // The cheapest plan pays 2.5 cents for a credit: 7.5 cents for 3 credits.
      const margins = computeMargins();
      const expected = [
        ['photo-1', 0.5],
        ['draft-1', -1],
      ];
      expect(margins.map(({ model, ratio }) => [model, ratio])).to.deep.equal(expected);
      // The worker exports them at its start, and warns about those below zero.
      const { values } = await modelMarginRatio.get();
      expect(values.map(({ labels, value }) => [labels.model, value])).to.deep.equal(expected);
      const worker = await service.startWorker();
      const warnings = worker.logs().match(/^.*model loses money at the rate of the cheapest plan.*$/gm) ?? [];
      expect(warnings.map((line) => JSON.parse(line))).to.have.length(1);
      expect(JSON.parse(warnings[0] ?? '')).to.deep.include({
        level: 40,
        model: 'draft-1',
        params: { resolution: '1K', aspect_ratio: '1:1' },
        revenueCents: 7.5,
        costCents: 15,
      });
    } finally {
      await service.stop();
    }
  });
});
