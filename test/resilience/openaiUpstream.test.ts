import { PassThrough, type Readable, type Writable } from 'node:stream';
import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { MP4, PNG } from '../fakes/misbehave.ts';
import { FakeUpstream } from '../fakes/fakeUpstream.ts';
import { returnImagesAs } from '../fakes/openaiImages.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';

describe('a service with an OpenAI-compatible upstream', () => {
  const upstream = new FakeUpstream('test');
  /** A second host with outputs. */
  const other = new FakeUpstream();
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    await Promise.all([upstream.start(), other.start()]);
    service = await startTestService({ workers: 2, env: settingsFor(upstream) });
    customer = await service.createCustomer('studio');
  });
  after(async () => {
    await service.stop();
    await Promise.all([upstream.stop(), other.stop()]);
  });
  beforeEach(() => {
    upstream.reset();
    // Ids may contain characters that need escaping in a path.
    upstream.onAccepted = (job) => {
      job.id += '/.?#%';
    };
  });

  it('generates videos and downloads them with the key', async () => {
    const { uuid, prompt } = await customer.createVideo();
    const ended = await customer.waitForEnd(uuid);
    expect(ended).to.include({ status: 'succeeded', is_watermarked: false });
    expect(await download(ended.output_url)).to.deep.equal(MP4);
    const [job, ...others] = upstream.jobsFor(prompt);
    expect(others).to.deep.equal([]);
    expect(job?.request.headers['idempotency-key']).to.equal(uuid);
    expect(job?.input).to.deep.equal({ model: 'some-video', prompt, seconds: '5', size: '1280x720' });
    const content = `${upstream.url}/v1/videos/${encodeURIComponent(job?.id ?? '')}/content`;
    expect((await fetch(content)).status).to.equal(401);
  });

  it('stores images of another host, without sending the key to it', async () => {
    returnImagesAs(upstream, 'url of another host', other.url);
    const { uuid, prompt } = await customer.createImage();
    const ended = await customer.waitForEnd(uuid);
    expect(ended.status).to.equal('succeeded');
    expect(await download(ended.output_url)).to.deep.equal(PNG);
    expect(await download(ended.thumbnail_url)).to.have.length.above(10);
    const [job, ...others] = upstream.jobsFor(prompt);
    expect(others).to.deep.equal([]);
    expect(job?.request.headers['idempotency-key']).to.equal(uuid);
    expect(job?.input).to.deep.equal({ model: 'some-image', prompt, n: 1, size: '1024x1024' });
    expect(other.requests.map(({ authorization }) => authorization)).to.deep.equal([undefined]);
  });

  it('downloads an image from the address in a response once there is space for it', async () => {
    const env = { ...settingsFor(upstream), MEDIA_MAX_BYTES: '500000' };
    const single = await startTestService({ workers: 1, env });
    try {
      returnImagesAs(upstream, 'url', other.url);
      const picture = Buffer.concat([PNG, Buffer.alloc(400_000)]);
      const headers = { 'content-type': 'image/png', 'content-length': String(picture.length) };
      const slow = new PassThrough();
      const send = (body: Readable) => (upstream.file = { status: 200, headers, body });
      send(slow);
      const countFiles = () => upstream.requests.filter(({ call }) => call.startsWith('GET /files/')).length;
      const known = countFiles();
      const owner = await single.createCustomer('studio');
      const first = await owner.createImage();
      slow.write(picture.subarray(0, 1_000));
      await eventually('downloading', () => countFiles() === known + 1);
      let refused: Writable | undefined;
      const sendStart = <To extends NodeJS.WritableStream>(to: To): To => {
        refused = to as unknown as Writable;
        to.write(picture.subarray(0, 1_000));
        return to;
      };
      send(Object.assign(new PassThrough(), { pipe: sendStart }));
      const second = await owner.createImage();
      await eventually('no space', () => refused?.destroyed === true);
      expect(countFiles()).to.equal(known + 2);
      upstream.file = undefined;
      upstream.picture = picture;
      slow.end(picture.subarray(1_000));
      for (const { uuid } of [first, second]) expect((await owner.waitForEnd(uuid)).status).to.equal('succeeded');
      expect(countFiles()).to.equal(known + 3);
    } finally {
      await single.stop();
    }
  });

  it('runs an image once that takes longer than the timeout of an asynchronous submit', async () => {
    upstream.delayMs = 8_000;
    const jobs = await Promise.all([customer.createImage(), customer.createImage(), customer.createImage()]);
    const ended = await Promise.all(jobs.map(({ uuid }) => customer.waitForEnd(uuid)));
    expect(ended.map(({ status }) => status)).to.deep.equal(['succeeded', 'succeeded', 'succeeded']);
    expect(jobs.map(({ prompt }) => upstream.jobsFor(prompt).length)).to.deep.equal([1, 1, 1]);
  });
});

function settingsFor(upstream: FakeUpstream): Record<string, string> {
  return {
    VIDEO_UPSTREAM: 'openai:some-video',
    IMAGE_UPSTREAM: 'openai:some-image',
    OPENAI_BASE_URL: `${upstream.url}/v1`,
    OPENAI_API_KEY: 'test',
    // The other host has a local address as well.
    UPSTREAMS: JSON.stringify({ upstreams: { openai: { local: true } } }),
    UPSTREAM_TIMEOUT_MS: '1000',
  };
}

async function download(url: string): Promise<Buffer> {
  const response = await fetch(url);
  expect(response.status).to.equal(200);
  return Buffer.from(await response.arrayBuffer());
}
