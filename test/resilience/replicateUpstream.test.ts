import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { MP4, PNG } from '../fakes/misbehave.ts';
import { FakeUpstream, type UpstreamJob } from '../fakes/fakeUpstream.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';

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
        UPSTREAM_TIMEOUT_MS: '1000',
      },
    });
    customer = await service.createCustomer('studio');
    await eventually('online', () => isOnline('vidmodel-video'));
  });
  after(async () => {
    try {
      await service.stop();
    } finally {
      await upstream.stop();
    }
  });
  beforeEach(async () => {
    upstream.reset();
    // Lost responses of one test would count as failed probes in the next.
    await service.sql(
      "UPDATE upstream_health SET status = 'online', consecutive_failures = 0, consecutive_successes = 2, probed_at = now()",
    );
  });

  const isOnline = async (slug: string): Promise<boolean> => {
    const { body } = await service.request('GET', '/api/models/');
    return body.data.find((model: { slug: string }) => model.slug === slug).status === 'online';
  };

  /** Returns the only prediction of a prompt. */
  const getPrediction = (prompt: string): UpstreamJob => {
    const predictions = upstream.jobsFor(prompt);
    expect(predictions).to.have.length(1);
    return predictions[0] as UpstreamJob;
  };

  const expectRefunded = async (generation: { status: string }, message: string, balance: number): Promise<void> => {
    expect(generation).to.include({ status: 'failed', error_message: message, output_url: null });
    expect(await customer.balance()).to.equal(balance);
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

  it('fails and refunds a failed prediction with a message for the customer', async () => {
    Object.assign(upstream, { outcome: 'fail', failure: 'The input or output was flagged as sensitive. (E005)' });
    const balance = await customer.balance();
    const { uuid } = await customer.createVideo();
    const message = "The model's content policy does not allow this. Please change the prompt and try again.";
    await expectRefunded(await customer.waitForEnd(uuid), message, balance);
  });

  it('fails and refunds a generation that Replicate rejects, without a prediction', async () => {
    const description = 'The fake rejects this prompt';
    upstream.submit = { status: 422, body: { detail: '- input', invalid_fields: [{ description }] } };
    const balance = await customer.balance();
    const { uuid, prompt } = await customer.createImage();
    await expectRefunded(await customer.waitForEnd(uuid), description, balance);
    expect(upstream.jobsFor(prompt)).to.deep.equal([]);
  });

  it('fails and refunds a prediction without an output', async () => {
    upstream.status = { status: 200, body: { status: 'succeeded', output: null, data_removed: true } };
    const balance = await customer.balance();
    const { uuid } = await customer.createImage();
    await expectRefunded(await customer.waitForEnd(uuid), 'The model returned no output.', balance);
  });

  it('cancels and refunds a generation past its deadline, and ignores a late success', async () => {
    upstream.outcome = 'wait';
    const balance = await customer.balance();
    const { uuid, prompt } = await customer.createVideo();
    const handle = 'SELECT 1 FROM generations WHERE uuid = $1 AND upstream_handle IS NOT NULL';
    await eventually('submitted', async () => (await service.sql(handle, [uuid])).length === 1);
    await service.sql('UPDATE generations SET deadline_at = now() WHERE uuid = $1', [uuid]);
    await eventually('failed', async () => (await customer.readGeneration(uuid)).body.status === 'failed');
    await eventually('cancelled', () => getPrediction(prompt).cancelled);
    upstream.end(prompt, 'succeeded');
    const ended = (await customer.readGeneration(uuid)).body;
    await expectRefunded(ended, 'The model did not finish in time.', balance);
  });

  it('submits a generation at most twice when every response is lost, and refunds it', async () => {
    upstream.submit = 'drop after acceptance';
    const balance = await customer.balance();
    const { uuid, prompt } = await customer.createImage();
    const message = 'The model did not confirm this generation. Please try again.';
    await expectRefunded(await customer.waitForEnd(uuid), message, balance);
    expect(upstream.jobsFor(prompt)).to.have.length(2);
  });

  it('submits a generation again after its first response was lost, and completes it once', async () => {
    upstream.submit = 'drop after acceptance';
    const balance = await customer.balance();
    const { uuid, prompt } = await customer.createImage();
    await eventually('accepted', () => upstream.jobsFor(prompt).length === 1);
    upstream.submit = undefined;
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    expect(upstream.jobsFor(prompt)).to.have.length(2);
    expect(await customer.balance()).to.equal(balance - 8);
  });

  it('waits as long as Replicate requests, and then submits the generation once', async () => {
    upstream.submit = { status: 429, body: { detail: 'Request was throttled.', status: 429, retry_after: 4 } };
    const before = upstream.submits;
    const { uuid, prompt } = await customer.createImage();
    await eventually('throttled', () => upstream.submits === before + 1);
    const throttledAt = Date.now();
    upstream.submit = undefined;
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    expect(Date.now() - throttledAt).to.be.above(3_000);
    getPrediction(prompt);
    expect(upstream.submits).to.equal(before + 2);
  });

  for (const how of ['error', 'garbage', 'hang', 'drop', 'busy', 'lose'] as const) {
    it(`keeps polling after a status request that fails with ${how}`, async () => {
      upstream.status = how;
      const { uuid, prompt } = await customer.createImage();
      await eventually('asked', () => (upstream.jobsFor(prompt)[0]?.polls.length ?? 0) > 0);
      upstream.status = undefined;
      expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    });
  }

  it('rejects creates while Replicate rejects the key, and accepts them again afterwards', async () => {
    const rejection = { status: 401, body: { title: 'Unauthenticated', status: 401 } };
    Object.assign(upstream, { submit: rejection, probe: rejection });
    const { uuid } = await customer.createImage();
    const balance = await customer.balance();
    await eventually('refused', async () => await isCreateRejected(customer), 45_000);
    expect(await customer.balance()).to.equal(balance);
    upstream.reset();
    await eventually('online', () => isOnline('imgmodel-2'), 45_000);
    expect((await customer.waitForEnd(uuid, 40_000)).status).to.equal('succeeded');
  }).timeout(150_000);

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

/** Returns true if the create of an image is rejected because the model is offline. */
async function isCreateRejected(customer: TestCustomer): Promise<boolean> {
  const { body } = await customer.request('GET', '/api/models/');
  if (body.data.find((model: { slug: string }) => model.slug === 'imgmodel-2').status !== 'offline') return false;
  const refused = await customer.createGeneration({ model: 'imgmodel-2', params: { resolution: '1K' } });
  expect([refused.status, refused.body.error]).to.deep.equal([503, 'model_unavailable']);
  return true;
}
