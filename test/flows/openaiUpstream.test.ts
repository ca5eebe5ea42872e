import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { MP4, PNG } from '../fakes/misbehave.ts';
import { FakeOpenAI } from '../fakes/upstreams/openai.ts';
import type { ServiceProcess } from '../harness/serviceProcess.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';

const NOT_ALLOWED = "The model's content policy does not allow this. Please change the prompt and try again.";

describe('a service on what speaks like OpenAI', () => {
  const standIn = new FakeOpenAI();
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    await standIn.start();
    service = await startTestService({ workers: 2, env: settingsFor(standIn) });
    customer = await service.createCustomer('studio');
  });
  after(async () => {
    await service.stop();
    await standIn.stop();
  });
  beforeEach(() => standIn.reset());

  it('makes videos, which it gets with the key only', async () => {
    const { uuid, prompt } = await customer.createVideo();
    const ended = await customer.waitForEnd(uuid);
    expect(ended).to.include({ status: 'succeeded', is_watermarked: false });
    expect(await download(ended.output_url)).to.deep.equal(MP4);
    const [job, ...others] = standIn.jobsFor(prompt);
    expect(others).to.deep.equal([]);
    expect(job).to.include({ model: 'some-video', idempotencyKey: uuid });
    expect(job?.body).to.deep.equal({ model: 'some-video', prompt, seconds: '5', size: '1280x720' });
    const content = `${standIn.url}/v1/videos/${encodeURIComponent(job?.id ?? '')}/content`;
    expect((await fetch(content)).status).to.equal(401);
  });

  it('takes a video from where it is sent for it, and does not take the key there', async () => {
    standIn.content = 'redirect';
    const { uuid } = await customer.createVideo();
    const ended = await customer.waitForEnd(uuid);
    expect(ended.status).to.equal('succeeded');
    expect(await download(ended.output_url)).to.deep.equal(MP4);
    expect(standIn.visits.splice(0)).to.deep.equal([{ path: '/output.mp4', authorization: undefined }]);
  });

  it('fails and refunds a video that the model could not make', async () => {
    standIn.outcome = 'fail';
    const balance = await customer.balance();
    const { uuid } = await customer.createVideo();
    expect(await customer.waitForEnd(uuid)).to.include({
      status: 'failed',
      error_message: 'The stand-in was told to fail.',
    });
    expect(await customer.balance()).to.equal(balance);
  });

  for (const imageAs of ['b64_json', 'url', 'data url', 'url of another host'] as const) {
    it(`makes images that come as ${imageAs}`, async () => {
      standIn.imageAs = imageAs;
      const { uuid, prompt } = await customer.createImage();
      const ended = await customer.waitForEnd(uuid);
      expect(ended.status).to.equal('succeeded');
      expect(await download(ended.output_url)).to.deep.equal(PNG);
      expect(await download(ended.thumbnail_url)).to.have.length.above(10);
      const [job, ...others] = standIn.jobsFor(prompt);
      expect(others).to.deep.equal([]);
      expect(job).to.include({ model: 'some-image', idempotencyKey: uuid });
      expect(job?.body).to.deep.equal({ model: 'some-image', prompt, n: 1, size: '1024x1024' });
      expect(standIn.visits.splice(0).map(({ authorization }) => authorization)).to.deep.equal(
        imageAs === 'url of another host' ? [undefined] : [],
      );
    });
  }

  for (const kind of ['image', 'video'] as const) {
    it(`fails and refunds what is refused as ${kind}, with plain words`, async () => {
      standIn.submit = standIn.image = 'refuse';
      const balance = await customer.balance();
      const submits = standIn.submits;
      const { uuid } = kind === 'image' ? await customer.createImage() : await customer.createVideo();
      expect(await customer.waitForEnd(uuid)).to.include({ status: 'failed', error_message: NOT_ALLOWED });
      expect(await customer.balance()).to.equal(balance);
      expect(standIn.submits).to.equal(submits + 1);
    });
  }

  it('has an image made once that takes longer than a submit may take elsewhere', async () => {
    standIn.imageDelayMs = 8_000;
    const jobs = await Promise.all([customer.createImage(), customer.createImage(), customer.createImage()]);
    const ended = await Promise.all(jobs.map(({ uuid }) => customer.waitForEnd(uuid)));
    expect(ended.map(({ status }) => status)).to.deep.equal(['succeeded', 'succeeded', 'succeeded']);
    expect(jobs.map(({ prompt }) => standIn.jobsFor(prompt).length)).to.deep.equal([1, 1, 1]);
  });

  it('comes again with an image while the upstream is busy, as often as it takes', async () => {
    standIn.image = 'busy';
    const submits = standIn.submits;
    const { uuid, prompt } = await customer.createImage();
    await eventually('turned away three times', () => standIn.submits >= submits + 3);
    standIn.image = undefined;
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    expect(standIn.jobsFor(prompt)).to.have.length(1);
  });

  it('has an image made once more of which half has come, and gives it up, refunded, the second time', async () => {
    standIn.image = 'drop in the middle';
    standIn.picture = randomBytes(300_000);
    const balance = await customer.balance();
    const { uuid, prompt } = await customer.createImage();
    expect(await customer.waitForEnd(uuid)).to.include({
      status: 'failed',
      error_message: 'The model did not confirm this job. Please try again.',
    });
    expect(standIn.jobsFor(prompt)).to.have.length(2);
    expect(await customer.balance()).to.equal(balance);
    expect(await readdir(join(service.env['MEDIA_DIR'] as string, '.incoming'))).to.deep.equal([]);
  });

  it('fails and refunds an image that is none, that is not there, or that is too large', async () => {
    for (const [picture, message] of [
      [Buffer.from('no picture at all'), 'The model returned no usable output.'],
      [Buffer.alloc(0), 'The model returned no output.'],
      [Buffer.concat([PNG, randomBytes(600_000)]), 'The model returned no usable output.'],
    ] as const) {
      standIn.picture = picture;
      const { uuid } = await customer.createImage();
      expect(await customer.waitForEnd(uuid)).to.include({ status: 'failed', error_message: message });
    }
  });
});

describe('a service on an engine of our own, without a key', () => {
  const standIn = new FakeOpenAI();
  let service: TestService;
  let worker: ServiceProcess;
  before(async () => {
    standIn.key = null;
    await standIn.start();
    const engine = { adapter: 'openai', base_url: `${standIn.url}/v1`, form: true, local: true };
    service = await startTestService({
      env: {
        VIDEO_UPSTREAM: 'engine:Wan-AI/Wan2.2-T2V',
        IMAGE_UPSTREAM: 'engine:Qwen/Qwen-Image',
        UPSTREAMS: JSON.stringify({ upstreams: { engine } }),
        UPSTREAM_TIMEOUT_MS: '1000',
      },
      workers: 0,
    });
    worker = await service.startWorker();
  });
  after(async () => {
    await service.stop();
    await standIn.stop();
  });

  it('orders videos by form and images by JSON, and has both', async () => {
    const customer = await service.createCustomer('studio');
    const [video, image] = await Promise.all([customer.createVideo(), customer.createImage()]);
    expect((await customer.waitForEnd(video.uuid)).status).to.equal('succeeded');
    expect((await customer.waitForEnd(image.uuid)).status).to.equal('succeeded');
    expect(standIn.jobsFor(video.prompt)[0]).to.include({ isForm: true, model: 'Wan-AI/Wan2.2-T2V' });
    expect(standIn.jobsFor(image.prompt)[0]).to.include({ isForm: false, model: 'Qwen/Qwen-Image' });
  });

  it('has an image made at most once more that a worker was waiting for when it was killed', async () => {
    const customer = await service.createCustomer('pro');
    standIn.imageDelayMs = 2_000;
    standIn.onAccepted = () => {
      standIn.onAccepted = () => {};
      worker.child.kill('SIGKILL');
    };
    const { uuid, prompt } = await customer.createImage();
    await eventually('accepted', () => standIn.jobsFor(prompt).length === 1);
    worker = await service.startWorker();
    const ended = await customer.waitForEnd(uuid);
    expect(ended.status).to.equal('succeeded');
    expect(await download(ended.output_url)).to.deep.equal(PNG);
    expect(standIn.jobsFor(prompt)).to.have.length(2);
  });

  it('gives an image up, refunded, of which two workers died', async () => {
    const customer = await service.createCustomer('pro');
    standIn.outcome = 'wait';
    const { uuid, prompt } = await customer.createImage();
    for (const runs of [1, 2]) {
      await eventually(`run ${runs}`, () => standIn.jobsFor(prompt).length === runs);
      await worker.kill();
      worker = await service.startWorker();
    }
    expect(await customer.waitForEnd(uuid)).to.include({
      status: 'failed',
      error_message: 'The model did not confirm this job. Please try again.',
    });
    expect(standIn.jobsFor(prompt)).to.have.length(2);
    expect(await customer.balance()).to.equal(1100);
  });
});

function settingsFor(standIn: FakeOpenAI): Record<string, string> {
  return {
    VIDEO_UPSTREAM: 'openai:some-video',
    IMAGE_UPSTREAM: 'openai:some-image',
    OPENAI_BASE_URL: `${standIn.url}/v1`,
    OPENAI_API_KEY: 'test',
    // The other host is on this machine, too.
    UPSTREAMS: JSON.stringify({ upstreams: { openai: { local: true } } }),
    UPSTREAM_TIMEOUT_MS: '1000',
    MEDIA_MAX_BYTES: '500000',
  };
}

async function download(url: string): Promise<Buffer> {
  const response = await fetch(url);
  expect(response.status).to.equal(200);
  return Buffer.from(await response.arrayBuffer());
}
