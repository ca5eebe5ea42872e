import { expect } from 'chai';
import type { Program } from '../../dev/local/environment/program.ts';
import { PNG } from '../fakes/misbehave.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { eventually, startTestService, useTestService } from '../harness/testService.ts';
import { waitForStoredEnd } from '../harness/upstreamCallbacks.ts';

const MEGABYTE = 1024 * 1024;

describe('the output of a run that has ended', () => {
  const service = useTestService({ workers: 0, env: { MEDIA_MAX_BYTES: String(4 * MEGABYTE) } });
  let worker: Program;
  let customer: TestCustomer;
  before(async () => {
    worker = await service.startWorker();
    customer = await service.createCustomer('studio');
  });
  beforeEach(() => service.upstream.reset());

  const countFileRequests = () => service.upstream.requests.filter(({ call }) => call.includes('/files/')).length;
  const readOutput = async (uuid: string) =>
    (await service.sql('SELECT upstream_output FROM generations WHERE uuid = $1', [uuid]))[0].upstream_output;

  it('is collected by another worker if the one that collects it dies, without another poll', async () => {
    service.upstream.file = 'hang';
    const { uuid, prompt } = await customer.createImage();
    await eventually('collecting', () => countFileRequests() > 0);
    const polls = service.upstream.jobsFor(prompt)[0]?.polls.length;
    expect(await readOutput(uuid)).to.include({ isWatermarked: false });
    await worker.kill();
    service.upstream.file = undefined;
    worker = await service.startWorker();
    expect(await waitForStoredEnd(service, uuid)).to.equal('succeeded');
    expect(service.upstream.jobsFor(prompt)[0]?.polls).to.have.length(polls as number);
    expect(await readOutput(uuid)).to.equal(null);
  });

  it('keeps how many files a safety filter replaced, if the worker that collects the others dies', async () => {
    const model = { name: 'Two', kind: 'image', description: 'Two.', params: {}, outputs: 2, credits: 1 };
    const pair = await startTestService({
      workers: 0,
      env: {
        CATALOG: JSON.stringify({ models: { pair: { ...model, upstreams: ['fal:acme/pair'] } } }),
        UPSTREAMS: JSON.stringify({ models: { 'fal:acme/pair': { input: { prompt: '$prompt', num_images: 2 } } } }),
      },
    });
    try {
      const first = await pair.startWorker();
      pair.upstream.file = 'hang';
      pair.upstream.changeBody = (body, operation) =>
        operation === 'result' ? { ...body, has_nsfw_concepts: [true, false] } : body;
      const { key } = await pair.createCustomer('studio');
      // The OpenAPI document that other requests are compared with is that of another catalog.
      const created = await fetch(`${pair.baseUrl}/api/generations/create/`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'pair', prompt: 'two lighthouses', params: {} }),
      });
      const { uuid } = (await created.json()) as { uuid: string };
      await eventually('collecting', async () => {
        const [row] = await pair.sql('SELECT upstream_output FROM generations WHERE uuid = $1', [uuid]);
        return row.upstream_output?.filtered === 1;
      });
      await first.kill();
      pair.upstream.reset();
      await pair.startWorker();
      expect(await waitForStoredEnd(pair, uuid)).to.equal('succeeded');
    } finally {
      await pair.stop();
    }
  });

  it('is collected once there is space for it, if several are large', async () => {
    const known = countFileRequests();
    service.upstream.picture = Buffer.concat([PNG, Buffer.alloc(3 * MEGABYTE)]);
    const images = await Promise.all(Array.from({ length: 4 }, () => customer.createImage()));
    for (const { uuid } of images) expect(await waitForStoredEnd(service, uuid)).to.equal('succeeded');
    // An output that did not fit was requested again.
    expect(countFileRequests() - known).to.be.above(4);
    expect(await customer.balance()).to.equal(3_000 - 5 * 8);
  });

  it('takes no place of the limit of its upstream while it is collected', async () => {
    const limited = await startTestService({
      env: { UPSTREAMS: JSON.stringify({ upstreams: { fal: { concurrency: 1 } } }) },
    });
    try {
      limited.upstream.file = 'hang';
      const owner = await limited.createCustomer('studio');
      await Promise.all([owner.createImage(), owner.createImage()]);
      await eventually('collecting', () => limited.upstream.requests.some(({ call }) => call.includes('/files/')));
      // Before the sweep finds it.
      await eventually('the other one is submitted', () => limited.upstream.jobs.length === 2, 400);
      limited.upstream.file = undefined;
    } finally {
      await limited.stop();
    }
  });

  it('is collected from a data address that no row holds', async () => {
    const url = `data:image/png;base64,${Buffer.concat([PNG, Buffer.alloc(10_000)]).toString('base64')}`;
    service.upstream.changeBody = (body, operation) =>
      operation === 'result' ? { ...body, images: [{ url, content_type: 'image/png' }] } : body;
    const { uuid } = await customer.createImage();
    expect(await waitForStoredEnd(service, uuid)).to.equal('succeeded');
  });
});
