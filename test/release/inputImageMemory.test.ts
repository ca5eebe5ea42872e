import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect } from 'chai';
import sharp from 'sharp';
import { InvalidImageError } from '../../shared/gateways/media/inputImages.ts';
import { stopThumbnailProcess } from '../../shared/gateways/media/thumbnail.ts';
import { INPUT_IMAGES_MAX_BYTES } from '../../shared/spec/limits.ts';
import { ScriptedServer } from '../fakes/scriptedServer.ts';
import { captureError } from '../harness/expectRejection.ts';
import { createImageDecoder } from '../harness/imageDecoder.ts';

const run = promisify(execFile);

/** A picture of one color, written without holding it. */
const draw = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: 'teal' }, limitInputPixels: false });

/** Finds the process that decodes images for this one. */
async function readDecoderPeakKb(): Promise<number> {
  const { stdout } = await run('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)]);
  const line = stdout.split('\n').find((text) => text.includes('thumbnailProcess')) ?? '';
  const status = await readFile(`/proc/${Number.parseInt(line, 10)}/status`, 'utf8').catch(() => '');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0);
}

describe('the memory in which an input image is decoded', () => {
  const { decode } = createImageDecoder();

  it('decodes an image of the largest size after others, which have left little address space', async () => {
    stopThumbnailProcess();
    await decode(await draw(3_500, 3_500).jpeg().toBuffer());
    const background = { r: 1, g: 2, b: 3, alpha: 0.5 };
    const picture = sharp({ create: { width: 2_890, height: 2_890, channels: 4, background } });
    const webp = await picture.webp({ lossless: true }).toBuffer();
    for (let time = 0; time < 3; time += 1) expect(await decode(webp)).to.include({ width: 2_890 });
  });

  const TOO_MUCH_MEMORY: [string, () => Promise<Buffer>][] = [
    ['a WebP of 17 megapixels', () => draw(4_120, 4_120).webp({ effort: 0 }).toBuffer()],
    [
      'a WebP of 9 megapixels with transparency',
      () => draw(3_000, 3_000).ensureAlpha(0.5).webp({ effort: 0 }).toBuffer(),
    ],
    [
      'a progressive JPEG of 49 megapixels with all colors',
      () => draw(7_000, 7_000).jpeg({ progressive: true, chromaSubsampling: '4:4:4' }).toBuffer(),
    ],
    [
      'an interlaced PNG of 36 megapixels with 16 bits and transparency',
      () => draw(6_000, 6_000).ensureAlpha(0.5).toColourspace('rgb16').png({ progressive: true }).toBuffer(),
    ],
  ];
  for (const [name, build] of TOO_MUCH_MEMORY) {
    it(`rejects ${name}, which exceeds the memory limit, before it is in memory`, async () => {
      const content = await build();
      const error = await captureError(decode(content));
      expect(error).to.be.instanceOf(InvalidImageError);
      expect(error.message).to.match(/^The image takes too much memory: .* Make it smaller, or save it as/);
    });
  }

  const LARGEST: [string, () => Promise<Buffer>][] = [
    ['a rotated JPEG', () => draw(7_000, 7_000).jpeg().withMetadata({ orientation: 6 }).toBuffer()],
    ['a progressive JPEG', () => draw(7_000, 7_000).jpeg({ progressive: true }).toBuffer()],
    ['a WebP', () => draw(4_096, 4_096).webp({ effort: 0 }).toBuffer()],
    ['a WebP with transparency', () => draw(2_896, 2_896).ensureAlpha(0.5).webp({ effort: 0 }).toBuffer()],
    ['an interlaced PNG', () => draw(7_000, 7_000).png({ progressive: true }).toBuffer()],
    ['a PNG of long lines', () => draw(30_000, 1_666).ensureAlpha(0.5).toColourspace('rgb16').png().toBuffer()],
  ];
  for (const [name, build] of LARGEST) {
    it(`decodes the largest accepted image within 300 MB: ${name}`, async function () {
      if (process.platform !== 'linux') this.skip();
      stopThumbnailProcess();
      const state = { isDone: false };
      let peakKb = 0;
      const decoding = decode(await build()).finally(() => (state.isDone = true));
      while (!state.isDone) peakKb = Math.max(peakKb, await readDecoderPeakKb());
      const image = await decoding;
      expect(image.width * image.height).to.be.above(8_000_000);
      expect(peakKb).to.be.within(50_000, 300_000);
    });
  }
});

describe('the memory of a worker that submits the contents of input images', () => {
  const server = new ScriptedServer();
  before(() => server.start());
  after(() => server.stop());

  it('does not contain these contents, in which no byte is lost', async () => {
    server.on('POST /models/gemini-3-pro-image:generateContent', 'hang');
    const program = ['--import', 'tsx', 'test/harness/submitLargeImages.ts', server.url];
    const { stdout } = await run(process.execPath, program);
    const { faults, megabytes } = JSON.parse(stdout) as { faults: string[]; megabytes: number };
    expect(faults).to.deep.equal(Array(4).fill('unknown'));
    expect(megabytes).to.be.below(INPUT_IMAGES_MAX_BYTES / 1_000_000);
    const sizes = server.requests.map(({ bytes }) => bytes.length);
    expect(sizes).to.have.length(4);
    expect(Math.min(...sizes)).to.be.above(INPUT_IMAGES_MAX_BYTES * (4 / 3));
    const { contents } = server.lastJson as { contents: [{ parts: { inlineData: { data: string } }[] }] };
    const sent = contents[0].parts.map(({ inlineData: { data } }) => Buffer.from(data, 'base64'));
    const bytes = Math.floor(INPUT_IMAGES_MAX_BYTES / 14);
    for (const [index, content] of sent.entries()) expect(content.equals(Buffer.alloc(bytes, index))).to.equal(true);
    expect(sent).to.have.length(14);
  });
});
