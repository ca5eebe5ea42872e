import { expect } from 'chai';
import { checkModelHealth, getProbeConcurrency } from '../../shared/domain/generations/execution/healthCheck.ts';
import { createBrowserFor } from '../harness/httpBrowser.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { buildLargeCatalog, LARGE_CATALOG_MODELS } from '../harness/largeCatalog.ts';
import { connectMcpClient } from '../harness/mcpClient.ts';
import { lintDocument } from '../harness/openapiLint.ts';
import { eventually, release, useTestService } from '../harness/testService.ts';

const { models } = buildLargeCatalog();
const CATALOG = JSON.stringify({ models });
const SLUGS = Object.keys(models);
/** Each model has two choices, of one provider. */
const ROUTES = 2 * LARGE_CATALOG_MODELS;

describe(`a service with ${LARGE_CATALOG_MODELS} models`, function () {
  this.timeout(60_000);
  const service = useTestService({ env: { CATALOG } });
  let customer: TestCustomer;
  before(async () => {
    customer = await service.createCustomer('studio');
  });

  const create = (model: string, params: object = {}) => customer.createGeneration({ model, params });

  it('lists all of them as online, in pages and in their order', async () => {
    const listed: { slug: string; status: string }[] = [];
    await eventually('all models are online', async () => {
      listed.length = 0;
      for (let page = 1; page <= 10; page += 1) {
        const { body } = await service.request('GET', `/api/models/?page=${page}`);
        expect(body.pagination).to.include({ total_items: LARGE_CATALOG_MODELS, total_pages: 10 });
        listed.push(...body.data);
        if (listed.some(({ status }) => status !== 'online')) return false;
      }
      return true;
    });
    expect(listed.map(({ slug }) => slug)).to.deep.equal(SLUGS);
  });

  it('creates with the first, a middle and the last one at the estimated price', async () => {
    for (const model of [SLUGS[0], SLUGS[98], SLUGS[199]] as string[]) {
      const body = { model, prompt: 'a lighthouse', params: {} };
      const { credits } = (await customer.request('POST', '/api/generations/estimate/', { body })).body;
      const { status, body: created } = await create(model);
      expect([status, created.credits_charged], model).to.deep.equal([201, credits]);
      expect(await customer.waitForEnd(created.uuid)).to.include({ status: 'succeeded', model });
    }
  });

  it('runs generations of ten releases, each by its own catalog', async () => {
    for (let index = 0; index < 9; index += 1) {
      const [slug = ''] = SLUGS;
      const changed = { ...models, [slug]: { ...models[slug], description: `Release ${index}.` } };
      await release(service.env['DATABASE_URL'] ?? '', JSON.stringify({ models: changed }));
    }
    const created = await Promise.all(Array.from({ length: 8 }, (_, index) => create(SLUGS[index * 20] as string)));
    for (const { body } of created)
      expect(await customer.waitForEnd(body.uuid), body.model).to.include({ status: 'succeeded' });
    await release(service.env['DATABASE_URL'] ?? '', CATALOG);
  });

  it('offers them to assistants in descriptions of limited length', async () => {
    const mcp = await connectMcpClient(customer);
    const { tools } = await mcp.client.listTools();
    await mcp.close();
    const generate = tools.filter(({ name }: { name: string }) => name.startsWith('generate_'));
    expect(generate.flatMap(({ inputSchema }: any) => inputSchema.properties.model.enum)).to.have.members(SLUGS);
    for (const { name, description = '', inputSchema } of generate) {
      expect(description.length, name).to.be.below(13_000);
      for (const slug of inputSchema.properties.model.enum) expect(description).to.include(`${slug} (`);
      for (const [param, schema] of Object.entries<any>(inputSchema.properties ?? {}))
        expect(schema.description?.length ?? 0, param).to.be.below(700);
    }
    expect(JSON.stringify(tools).length).to.be.below(100_000);
  });

  it('describes them in a valid OpenAPI document', async () => {
    const { body } = await service.request('GET', '/api/openapi.json');
    const { model } =
      body.paths['/api/generations/create/'].post.requestBody.content['application/json'].schema.properties;
    expect(model.enum).to.deep.equal(SLUGS);
    expect(await lintDocument(body)).to.deep.equal([]);
  });

  it('shows the account, plan, library, key and usage pages', async () => {
    const visitor = createBrowserFor(customer);
    for (const path of ['/account/', '/account/billing/', '/account/library/', '/account/keys/', '/account/usage/']) {
      const { status, text } = await visitor.request(`${service.baseUrl}${path}`);
      expect([status, text.length < 200_000], path).to.deep.equal([200, true]);
    }
  });

  it('rejects an unknown model with an error that names some of them and where the others are', async () => {
    const { status, body } = await create('vendor-9000');
    expect([status, body.error]).to.deep.equal([400, 'validation_error']);
    expect(body.detail).to.match(
      /^model must be one of: vendor-0-image-v1\.5, (vendor-[^ ]+, ){18}vendor-[^ ]+ and 180 more\.$/,
    );
  });

  it('probes a provider that hangs in one pass at a time, with a limited number of requests', async () => {
    const { upstream } = service;
    const most = getProbeConcurrency(ROUTES);
    expect(most).to.be.below(ROUTES / 2);
    // A pass that has begun ends before the provider hangs.
    await checkModelHealth();
    upstream.status = 'hang';
    const before = upstream.requests.length;
    const checking = Promise.all(Array.from({ length: 5 }, () => checkModelHealth()));
    await eventually('probes are waiting', () => Promise.resolve(upstream.requests.length - before >= most));
    await new Promise((done) => setTimeout(done, 500));
    expect(upstream.requests.length - before).to.be.at.most(most);
    upstream.status = undefined;
    await upstream.stop();
    await upstream.start();
    await checking;
  });
});
