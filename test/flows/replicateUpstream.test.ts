import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { MP4, PNG } from '../fakes/misbehave.ts';
import { type Prediction, FakeReplicate } from '../fakes/upstreams/replicate.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';

const VIDEO_MODEL = 'bytedance/seedance-1-pro';
const IMAGE_MODEL = 'google/nano-banana-2';

describe('with Replicate as the upstream', () => {
  const standIn = new FakeReplicate();
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    await standIn.start();
    service = await startTestService({
      env: {
        VIDEO_UPSTREAM: `replicate:${VIDEO_MODEL}`,
        IMAGE_UPSTREAM: `replicate:${IMAGE_MODEL}`,
        REPLICATE_BASE_URL: `${standIn.url}/v1`,
        REPLICATE_API_TOKEN: FakeReplicate.KEY,
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
      await standIn.stop();
    }
  });
  beforeEach(async () => {
    standIn.reset();
    // What one test has lost of answers counts against the models of the next.
    await service.sql(
      "UPDATE upstream_health SET status = 'online', consecutive_failures = 0, consecutive_successes = 2, probed_at = now()",
    );
  });

  const isOnline = async (slug: string): Promise<boolean> => {
    const { body } = await service.request('GET', '/api/models/');
    return body.data.find((model: { slug: string }) => model.slug === slug).status === 'online';
  };

  /** The only prediction of a prompt. */
  const predictionOf = (prompt: string): Prediction => {
    const predictions = standIn.predictionsFor(prompt);
    expect(predictions).to.have.length(1);
    return predictions[0] as Prediction;
  };

  const expectRefunded = async (generation: { status: string }, message: string, balance: number): Promise<void> => {
    expect(generation).to.include({ status: 'failed', error_message: message, output_url: null });
    expect(await customer.balance()).to.equal(balance);
  };

  it('makes a video, from an order in the words of the model', async () => {
    const { uuid, prompt } = await customer.createVideo();
    const ended = await customer.waitForEnd(uuid);
    expect(ended).to.include({ status: 'succeeded', is_watermarked: false });
    expect(await downloadFile(ended.output_url)).to.deep.equal(MP4);
    const { model, version, input, prefer, cancelAfter } = predictionOf(prompt);
    expect([model, version, prefer]).to.deep.equal([VIDEO_MODEL, null, 'respond-async']);
    expect(input).to.include({ prompt, duration: 5, resolution: '720p', aspect_ratio: '16:9' });
    // Half an hour from the order, less what has passed of it.
    expect(Number.parseInt(cancelAfter ?? '', 10)).to.be.within(1_790, 1_800);
  });

  for (const outputAs of ['string', 'list'] as const) {
    it(`makes an image, which the model returns as a ${outputAs}`, async () => {
      standIn.outputAs = outputAs;
      const { uuid, prompt } = await customer.createImage();
      const ended = await customer.waitForEnd(uuid);
      expect(ended.status).to.equal('succeeded');
      expect(await downloadFile(ended.output_url)).to.deep.equal(PNG);
      const { model, input } = predictionOf(prompt);
      expect(model).to.equal(IMAGE_MODEL);
      expect(input).to.deep.equal({ prompt, resolution: '1K', aspect_ratio: '1:1' });
    });
  }

  it('writes down who made what', async () => {
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
    expect(rows[0].upstream_handle.id).to.equal(predictionOf(video.prompt).id);
  });

  it('fails and refunds a prediction that failed, and says why in plain words', async () => {
    Object.assign(standIn, { outcome: 'fail', error: 'The input or output was flagged as sensitive. (E005)' });
    const balance = await customer.balance();
    const { uuid } = await customer.createVideo();
    const message = "The model's content policy does not allow this. Please change the prompt and try again.";
    await expectRefunded(await customer.waitForEnd(uuid), message, balance);
  });

  it('fails and refunds an order that Replicate refuses, without a prediction', async () => {
    standIn.submit = 'refuse';
    const balance = await customer.balance();
    const { uuid, prompt } = await customer.createImage();
    await expectRefunded(await customer.waitForEnd(uuid), 'The prompt is not one that the stand-in takes', balance);
    expect(standIn.predictionsFor(prompt)).to.deep.equal([]);
  });

  it('fails and refunds a prediction without an output', async () => {
    standIn.status = { status: 200, body: { status: 'succeeded', output: null, data_removed: true } };
    const balance = await customer.balance();
    const { uuid } = await customer.createImage();
    await expectRefunded(await customer.waitForEnd(uuid), 'The model returned no output.', balance);
  });

  it('cancels and refunds a job past its deadline, and a late success changes nothing', async () => {
    standIn.outcome = 'wait';
    const balance = await customer.balance();
    const { uuid, prompt } = await customer.createVideo();
    const handle = 'SELECT 1 FROM generations WHERE uuid = $1 AND upstream_handle IS NOT NULL';
    await eventually('submitted', async () => (await service.sql(handle, [uuid])).length === 1);
    await service.sql('UPDATE generations SET deadline_at = now() WHERE uuid = $1', [uuid]);
    await eventually('failed', async () => (await customer.readGeneration(uuid)).body.status === 'failed');
    await eventually('cancelled', () => predictionOf(prompt).cancelled);
    standIn.end(prompt, 'succeeded');
    const ended = (await customer.readGeneration(uuid)).body;
    await expectRefunded(ended, 'The model did not finish in time.', balance);
  });

  it('runs a job twice at the most whose receipts are lost, and refunds it', async () => {
    standIn.submit = 'drop after acceptance';
    const balance = await customer.balance();
    const { uuid, prompt } = await customer.createImage();
    const message = 'The model did not confirm this job. Please try again.';
    await expectRefunded(await customer.waitForEnd(uuid), message, balance);
    expect(standIn.predictionsFor(prompt)).to.have.length(2);
  });

  it('runs a job twice whose first receipt is lost, and delivers it once', async () => {
    standIn.submit = 'drop after acceptance';
    const balance = await customer.balance();
    const { uuid, prompt } = await customer.createImage();
    await eventually('accepted', () => standIn.predictionsFor(prompt).length === 1);
    standIn.submit = undefined;
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    expect(standIn.predictionsFor(prompt)).to.have.length(2);
    expect(await customer.balance()).to.equal(balance - 8);
  });

  it('leaves Replicate alone for as long as it asks, and then has the job run once', async () => {
    standIn.submit = { status: 429, body: { detail: 'Request was throttled.', status: 429, retry_after: 4 } };
    const before = standIn.submits;
    const { uuid, prompt } = await customer.createImage();
    await eventually('throttled', () => standIn.submits === before + 1);
    const throttledAt = Date.now();
    standIn.submit = undefined;
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    expect(Date.now() - throttledAt).to.be.above(3_000);
    predictionOf(prompt);
    expect(standIn.submits).to.equal(before + 2);
  });

  for (const how of ['error', 'garbage', 'hang', 'drop', 'busy', 'forget'] as const) {
    it(`goes on asking for a state that it is answered with ${how}`, async () => {
      standIn.status = how;
      const { uuid, prompt } = await customer.createImage();
      await eventually('asked', () => (standIn.predictionsFor(prompt)[0]?.polls.length ?? 0) > 0);
      standIn.status = undefined;
      expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    });
  }

  it('takes orders no more while Replicate does not take its key, and does again when it does', async () => {
    const rejection = { status: 401, body: { title: 'Unauthenticated', status: 401 } };
    Object.assign(standIn, { submit: rejection, model: rejection });
    const { uuid } = await customer.createImage();
    const balance = await customer.balance();
    await eventually('refused', async () => await isCreateRejected(customer), 45_000);
    expect(await customer.balance()).to.equal(balance);
    standIn.reset();
    await eventually('online', () => isOnline('imgmodel-2'), 45_000);
    expect((await customer.waitForEnd(uuid, 40_000)).status).to.equal('succeeded');
  }).timeout(150_000);

  it('asks for everything with the key, outputs on its own host too, and asks nobody else', () => {
    const keys = new Set(standIn.requests.map(({ authorization }) => authorization));
    expect([...keys]).to.deep.equal([`Bearer ${FakeReplicate.KEY}`]);
    expect(standIn.requests.some(({ path }) => path.startsWith('/files/'))).to.equal(true);
    expect(service.upstream.submits).to.equal(0);
  });
});

async function downloadFile(url: string): Promise<Buffer> {
  return Buffer.from(await (await fetch(url)).arrayBuffer());
}

/** Whether an order of an image is refused because the model is offline. */
async function isCreateRejected(customer: TestCustomer): Promise<boolean> {
  const { body } = await customer.request('GET', '/api/models/');
  if (body.data.find((model: { slug: string }) => model.slug === 'imgmodel-2').status !== 'offline') return false;
  const refused = await customer.createGeneration({ model: 'imgmodel-2', params: { resolution: '1K' } });
  expect([refused.status, refused.body.error]).to.deep.equal([503, 'model_unavailable']);
  return true;
}
