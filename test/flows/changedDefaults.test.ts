import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { buildToolCall, openMcpSession, postMcp } from '../harness/mcpClient.ts';
import { release, useTestService } from '../harness/testService.ts';

const buildCatalog = (params: object) =>
  JSON.stringify({
    models: {
      'poster-1': {
        name: 'Poster model',
        kind: 'image',
        description: 'Posters from a text prompt.',
        upstreams: ['fal:acme/posters'],
        params,
        credits: { $by: 'resolution', '1K': 10, '2K': 30 },
      },
    },
  });
const ASPECT_RATIO = { enum: ['1:1', '16:9'], default: '1:1' };

const BEFORE = buildCatalog({ resolution: { enum: ['1K', '2K'], default: '1K' }, aspect_ratio: ASPECT_RATIO });
const AFTER = buildCatalog({
  resolution: { enum: ['1K', '2K'], default: '2K' },
  aspect_ratio: ASPECT_RATIO,
  style: { enum: ['plain', 'bold'], default: 'plain' },
});

const create = (customer: TestCustomer, key: string, params: object) => {
  const body = { model: 'poster-1', prompt: 'A poster', params };
  return customer.request('POST', '/api/generations/create/', { body, headers: { 'idempotency-key': key } });
};

describe('a create that is repeated after a deployment has changed a default', () => {
  const service = useTestService({ env: { CATALOG: BEFORE } });
  let deployedUrl: string;
  /** The same customer at the process of the first and of the second catalog. */
  let early: TestCustomer;
  let late: TestCustomer;
  before(async () => {
    await release(service.env['DATABASE_URL'] as string, AFTER);
    await service.startWorker({ CATALOG: AFTER });
    deployedUrl = (await service.startApi({ CATALOG: AFTER })).baseUrl;
  });
  beforeEach(async () => {
    early = await service.createCustomer('studio');
    late = early.on(deployedUrl);
  });

  it('returns the first generation with its price and parameters, under its Idempotency-Key', async () => {
    const [key, balance] = [randomUUID(), await early.balance()];
    const first = await create(early, key, { aspect_ratio: '16:9' });
    expect(first.body.params).to.deep.equal({ aspect_ratio: '16:9', resolution: '1K' });
    const repeated = await create(late, key, { aspect_ratio: '16:9' });
    expect([repeated.status, repeated.headers.get('idempotent-replayed')]).to.deep.equal([201, 'true']);
    expect(repeated.body).to.deep.equal(first.body);
    expect(await early.balance()).to.equal(balance - 10);
  });

  it('is another request with another value of a parameter, a changed one or not', async () => {
    const [key, balance] = [randomUUID(), await early.balance()];
    expect((await create(early, key, {})).status).to.equal(201);
    for (const params of [{ style: 'bold' }, { aspect_ratio: '16:9' }])
      expectError(await create(late, key, params), 'validation_error');
    expect(await early.balance()).to.equal(balance - 10);
  });

  it('returns the first generation under the message id of an MCP session', async () => {
    const balance = await early.balance();
    const headers = await openMcpSession(early);
    const send = async (customer: TestCustomer, id: number, args: object) =>
      (await postMcp(customer, buildToolCall('generate_image', args, id), { headers })).body.result.structuredContent;
    const first = await send(early, 7, { prompt: 'A poster' });
    expect(first).to.include({ status: 'queued', credits_charged: 10 });
    const repeated = await send(late, 7, { prompt: 'A poster' });
    expect(repeated).to.include({ uuid: first.uuid, credits_charged: 10 });
    expect(await early.balance()).to.equal(balance - 10);
    const other = await send(late, 7, { prompt: 'A poster', resolution: '2K' });
    expect(other).to.include({ status: 'queued', credits_charged: 30 });
    expect(await early.balance()).to.equal(balance - 40);
  });
});
