import { expect } from 'chai';
import { eventually, useTestService } from '../harness/testService.ts';

describe('one generation', () => {
  const service = useTestService();
  beforeEach(() => {
    Object.assign(service.upstream, { outcome: 'succeed', submit: undefined, status: undefined });
  });

  it('is charged when it is queued, and has an output when it has succeeded', async () => {
    const customer = await service.createCustomer('pro');
    const queued = await customer.createImage();
    expect(queued).to.include({ status: 'queued', credits_charged: 8, output_url: null, completed_at: null });
    expect(await customer.balance()).to.equal(1092);

    const ended = await customer.waitForEnd(queued.uuid);
    expect(ended.status).to.equal('succeeded');
    expect(ended.output_url).to.match(/^http:\/\/127\.0\.0\.1:\d+\/media\/[0-9a-f]{2}\/[0-9a-f]{30}\/.*\.png$/);
    expect(ended.duration_ms).to.equal(Date.parse(ended.completed_at) - Date.parse(ended.created_at));
    const file = await fetch(ended.output_url);
    expect(file.status).to.equal(200);
    expect(file.headers.get('content-type')).to.equal('image/png');
    expect((await fetch(ended.thumbnail_url)).headers.get('content-type')).to.equal('image/webp');
    expect(await customer.ledger()).to.deep.equal([
      ['grant', 1100],
      ['burn', -8],
    ]);
  });

  it('is refunded exactly once when it fails, however many readers there are', async () => {
    service.upstream.outcome = 'wait';
    const customer = await service.createCustomer('pro');
    const { uuid, prompt } = await customer.createVideo();
    await eventually('submitted', () => service.upstream.jobsFor(prompt).length === 1);
    service.upstream.end(prompt, 'failed');
    const reads = Array.from({ length: 20 }, () => customer.waitForEnd(uuid));
    for (const ended of await Promise.all(reads)) {
      expect(ended).to.include({ status: 'failed', error_message: 'The fake was set to fail.', output_url: null });
    }
    expect(await customer.ledger()).to.deep.equal([
      ['grant', 1100],
      ['burn', -35],
      ['refund', 35],
    ]);
  });

  it('fails with a message for the customer and is refunded when the upstream rejects it', async () => {
    service.upstream.submit = { status: 422, body: { detail: [{ msg: 'Not allowed by the content policy' }] } };
    const customer = await service.createCustomer('lite');
    const { uuid } = await customer.createImage();
    const ended = await customer.waitForEnd(uuid);
    expect(ended).to.include({ status: 'failed', error_message: 'Not allowed by the content policy' });
    expect(await customer.balance()).to.equal(200);
  });

  it('keeps its slot when it is deleted while queued, and is still refunded if it fails', async () => {
    service.upstream.outcome = 'wait';
    const customer = await service.createCustomer('pro');
    const { uuid, prompt } = await customer.createImage();
    await eventually('submitted', () => service.upstream.jobsFor(prompt).length === 1);
    expect((await customer.request('DELETE', `/api/generations/${uuid}/`)).status).to.equal(204);
    expect((await customer.request('GET', '/api/usage/summary/')).body.jobs.in_flight).to.equal(1);
    service.upstream.end(prompt, 'failed');
    await eventually('refunded', async () => (await customer.balance()) === 1100);
    expect((await customer.request('GET', '/api/usage/summary/')).body.jobs.in_flight).to.equal(0);
    expect((await customer.readGeneration(uuid)).status).to.equal(404);
  });
});
