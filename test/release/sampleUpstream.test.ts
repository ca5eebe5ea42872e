import { randomUUID } from 'node:crypto';
import { copyFile, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { expect } from 'chai';
import { ALL_FORMATS, BufferSource, Input } from 'mediabunny';
import sharp from 'sharp';
import type { StoredFile } from '../../dev/sampleUpstream/mediaFiles.ts';
import { type RenderPool, startRenderPool } from '../../dev/sampleUpstream/renderPool.ts';
import { startSampleUpstream } from '../../dev/sampleUpstream/server.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { type TestService, startTestService } from '../harness/testService.ts';

/**
 * Videos are rendered in software: 10 s of video take as long on a quiet machine, and much longer beside other tests.
 */
const RENDER_TIMEOUT_MS = 200_000;

/** Variables that point the service at the sample upstream, for each of its protocols. */
const PROTOCOLS: Record<string, (url: string) => Record<string, string>> = {
  fal: (url) => ({ FAL_BASE_URL: url, FAL_KEY: 'sample' }),
  openai: (url) => ({ ...buildRoutes('openai:sample'), OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'sample' }),
  replicate: (url) => ({
    ...buildRoutes('replicate:sample/model'),
    REPLICATE_BASE_URL: `${url}/v1`,
    REPLICATE_API_TOKEN: 'sample',
  }),
};

const IMAGES = [
  ['1K', undefined, 1024, 1024],
  ['1K', '16:9', 1376, 768],
  ['2K', '9:16', 1536, 2752],
  ['4K', '1:1', 4096, 4096],
] as const;

/** OpenAI has no videos without sound: its own rendering is the short one, and the protocols share the long one. */
const VIDEOS = [
  [{ duration: 10, resolution: '720p', audio: true }, 1280, 720],
  [{ duration: 5, resolution: '720p', aspect_ratio: '9:16' }, 720, 1280],
] as const;

let pool: RenderPool;
before(async () => {
  pool = await startSharedPool();
});
after(() => pool.close());

for (const [protocol, settings] of Object.entries(PROTOCOLS)) {
  describe(`the sample upstream, through the protocol of ${protocol}`, function () {
    // It may render several outputs, one after another.
    this.timeout(300_000);
    let upstream: Awaited<ReturnType<typeof startSampleUpstream>>;
    let service: TestService;
    let customer: TestCustomer;
    before(async () => {
      upstream = await startSampleUpstream({ port: 0, delayMs: 100, pool });
      service = await startTestService({ env: { MEDIA_FFMPEG_PATH: 'ffmpeg', ...settings(upstream.url) } });
      customer = await service.createCustomer('studio');
    });
    after(async () => {
      await service.stop();
      await upstream.stop();
    });

    for (const [resolution, aspectRatio, width, height] of IMAGES) {
      it(`renders an image with ${resolution} and ${aspectRatio ?? 'no'} aspect ratio as a PNG of that size`, async () => {
        const ended = await generate({ model: 'imgmodel-2', params: { resolution, aspect_ratio: aspectRatio } });
        const image = await sharp(await download(ended.output_url, 'image/png')).metadata();
        // OpenAI makes at most as many pixels as 3840 by 2160.
        const expected =
          protocol === 'openai' && resolution === '4K' ? { width: 2880, height: 2880 } : { width, height };
        expect(image).to.include({ format: 'png', ...expected });
        const thumbnail = await sharp(await download(ended.thumbnail_url, 'image/webp')).metadata();
        expect(Math.max(thumbnail.width, thumbnail.height)).to.equal(512);
        expect(ended.is_watermarked).to.equal(true);
      });
    }

    for (const [params, width, height] of VIDEOS) {
      it(`renders a video with ${JSON.stringify(params)} as an MP4 of ${width} by ${height} and the exact duration, with moov first`, async () => {
        const ended = await generate({ model: 'vidmodel-video', params });
        const bytes = await download(ended.output_url, 'video/mp4');
        expect(bytes.indexOf('moov')).to.be.within(0, bytes.indexOf('mdat'));
        const film = new Input({ source: new BufferSource(bytes), formats: ALL_FORMATS });
        const picture = await film.getPrimaryVideoTrack();
        expect(picture).to.include({ codec: 'avc', displayWidth: width, displayHeight: height });
        expect(await film.computeDuration()).to.be.closeTo(params.duration, 0.001);
        const isLoud = 'audio' in params || protocol === 'openai';
        expect((await film.getPrimaryAudioTrack()) !== null).to.equal(isLoud);
        expect((await sharp(await download(ended.thumbnail_url, 'image/webp')).metadata()).format).to.equal('webp');
        expect(ended.is_watermarked).to.equal(true);
      });
    }

    it('fails a prompt with [fail] after its start, and one with [reject] at submission, and both are refunded', async () => {
      const balance = await customer.balance();
      for (const prompt of ['[fail] please', '[reject] please']) {
        for (const { uuid } of [await customer.createImage(prompt), await customer.createVideo(prompt)]) {
          const ended = await customer.waitForEnd(uuid, RENDER_TIMEOUT_MS);
          expect(ended.status).to.equal('failed');
          expect(ended.error_message).to.match(/ change the prompt| different inputs/);
        }
      }
      expect(await customer.balance()).to.equal(balance);
    });

    async function generate(wanted: { model: string; params: object }) {
      const created = await customer.createGeneration(wanted);
      expect(created.status).to.equal(201);
      const ended = await customer.waitForEnd(created.body.uuid, RENDER_TIMEOUT_MS);
      expect(ended.status).to.equal('succeeded');
      return ended;
    }
  });
}

/**
 * Starts a pool that renders each output once, whatever its seed, for the protocols that request the same: rendering
 * takes most of the time of these tests.
 */
async function startSharedPool(): Promise<RenderPool> {
  const own = await startRenderPool(2);
  const shared = await mkdtemp(join(tmpdir(), 'sample-outputs-'));
  const rendered = new Map<string, Promise<StoredFile[]>>();
  return {
    ...own,
    render: async (id, request, folder, onStart) => {
      const output = JSON.stringify({ ...request, seed: 0 });
      const rendering = rendered.get(output) ?? own.render(randomUUID(), request, shared, onStart);
      rendered.set(output, rendering);
      onStart();
      const copies = (await rendering).map(async (file) => {
        const name = `${id}${extname(file.name)}`;
        await copyFile(join(shared, file.name), join(folder, name));
        return { ...file, name };
      });
      return Promise.all(copies);
    },
  };
}

function buildRoutes(model: string): Record<string, string> {
  return { VIDEO_UPSTREAM: model, IMAGE_UPSTREAM: model };
}

async function download(url: string, contentType: string): Promise<Buffer> {
  const response = await fetch(url);
  expect(response.status).to.equal(200);
  expect(response.headers.get('content-type')).to.equal(contentType);
  return Buffer.from(await response.arrayBuffer());
}
