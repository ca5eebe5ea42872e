import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { MP4, PNG } from '../fakes/misbehave.ts';
import { FakeUpstream, type UpstreamJob } from '../fakes/fakeUpstream.ts';
import { type TestService, startTestService } from '../harness/testService.ts';

const VIDEO_MODEL = 'bytedance/seedance-1-pro';
const IMAGE_MODEL = 'google/nano-banana-2';
const KEY = 'test';

describe('a service with Replicate as its upstream', () => {
  const upstream = new FakeUpstream(KEY);
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    await upstream.start();
    service = await startTestService({
      env: {
        VIDEO_UPSTREAM: `replicate:${VIDEO_MODEL}`,
        IMAGE_UPSTREAM: `replicate:${IMAGE_MODEL}`,
        REPLICATE_BASE_URL: `${upstream.url}/v1`,
        REPLICATE_API_TOKEN: KEY,
      },
    });
    customer = await service.createCustomer('studio');
  });
  after(async () => {
    try {
      await service.stop();
    } finally {
      await upstream.stop();
    }
  });
  beforeEach(() => upstream.reset());

  /** Returns the only prediction of a prompt. */
  const getPrediction = (prompt: string): UpstreamJob => {
    const predictions = upstream.jobsFor(prompt);
    expect(predictions).to.have.length(1);
    return predictions[0] as UpstreamJob;
  };

  it('generates a video from an input in the format of the model', async () => {
    const { uuid, prompt } = await customer.createVideo();
    const ended = await customer.waitForEnd(uuid);
    expect(ended).to.include({ status: 'succeeded', is_watermarked: false });
    expect(await downloadFile(ended.output_url)).to.deep.equal(MP4);
    const { model, input, request } = getPrediction(prompt);
    expect(request.path).to.equal(`/v1/models/${VIDEO_MODEL}/predictions`);
    expect(model).to.equal(VIDEO_MODEL);
    expect(request.body).to.deep.equal({ input: { input } });
    expect(input).to.include({ prompt, duration: 5, resolution: '720p', aspect_ratio: '16:9' });
    // Half an hour from the create, less the time since then.
    expect(Number.parseInt(String(request.headers['cancel-after']), 10)).to.be.within(1_790, 1_800);
  });

  for (const outputAs of ['string', 'list'] as const) {
    it(`stores an image that the model returns as a ${outputAs}`, async () => {
      // The fake returns a list.
      if (outputAs === 'string') upstream.changeBody = (body) => ({ ...body, output: body.output?.[0] ?? null });
      const { uuid, prompt } = await customer.createImage();
      const ended = await customer.waitForEnd(uuid);
      expect(ended.status).to.equal('succeeded');
      expect(await downloadFile(ended.output_url)).to.deep.equal(PNG);
      const { model, input } = getPrediction(prompt);
      expect(model).to.equal(IMAGE_MODEL);
      expect(input).to.deep.equal({ prompt, resolution: '1K', aspect_ratio: '1:1' });
    });
  }

  it('records the upstream and the model of each generation', async () => {
    const [video, image] = await Promise.all([customer.createVideo(), customer.createImage()]);
    await Promise.all([customer.waitForEnd(video.uuid), customer.waitForEnd(image.uuid)]);
    const rows = await service.sql(
      'SELECT upstream, upstream_model, upstream_handle FROM generations WHERE uuid = ANY ($1) ORDER BY upstream_model',
      [[video.uuid, image.uuid]],
    );
    expect(rows.map(({ upstream, upstream_model: model }) => [upstream, model])).to.deep.equal([
      ['replicate', VIDEO_MODEL],
      ['replicate', IMAGE_MODEL],
    ]);
    expect(rows[0].upstream_handle.id).to.equal(getPrediction(video.prompt).id);
  });

  it('sends the key with every request to Replicate, outputs on its host included', () => {
    const keys = new Set(upstream.requests.map(({ authorization }) => authorization));
    expect([...keys]).to.deep.equal([`Bearer ${KEY}`]);
    expect(upstream.requests.some(({ call }) => call.startsWith('GET /files/'))).to.equal(true);
    expect(service.upstream.submits).to.equal(0);
  });
});

async function downloadFile(url: string): Promise<Buffer> {
  return Buffer.from(await (await fetch(url)).arrayBuffer());
}
