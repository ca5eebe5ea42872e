import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import type { PlainThumbnails } from '../baselines/plainThumbnails.ts';
import type { Bench } from '../bench.ts';
import type { Figures } from '../figure.ts';
import type { ServiceCalls } from '../load/serviceCalls.ts';

/** Width and height of what models produce. */
const SIDE_PX = 1_024;

/** Layers over the grain of a picture: clouds of this many cells a side, and their opacity. */
const CLOUDS = [
  [256, 0.5],
  [64, 0.6],
  [8, 0.7],
] as const;

/**
 * Measures the processor time of a thumbnail of a picture of 1,024 x 1,024 pixels as PNG, JPEG and WebP, against
 * sharp's defaults for the same size and quality.
 */
export async function* measure(bench: Bench): Figures {
  const { repetitions } = bench.options.thumbnails;
  const folder = await mkdtemp(join(tmpdir(), 'bench-thumbnails-'));
  try {
    const files = await writePictures(folder);
    const { url } = bench.environment.postgres;
    const thumbnail = await bench.child<ServiceCalls>('load/serviceCalls.ts', url);
    const plain = await bench.child<PlainThumbnails>('baselines/plainThumbnails.ts', url);
    yield {
      name: "thumbnail of 1,024² pixels, CPU : sharp's defaults",
      ours: () => bench.timed({ thumbnail }, () => thumbnail.makeThumbnails(files, repetitions)),
      bare: () => bench.timed({ thumbnail: plain }, () => plain.makeThumbnails(files, repetitions)),
      by: 'thumbnail µs',
      target: [0.7, 0.65],
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Writes one picture in three formats: clouds of several sizes with grain, which compress like a photograph. */
async function writePictures(folder: string): Promise<string[]> {
  let picture = await drawNoise(SIDE_PX);
  for (const [cells, opacity] of CLOUDS) {
    const cloud = sharp(await drawNoise(cells)).resize(SIDE_PX, SIDE_PX, { kernel: 'cubic' });
    const input = await cloud.ensureAlpha(opacity).png().toBuffer();
    picture = await sharp(picture).composite([{ input }]).png().toBuffer();
  }
  return Promise.all(
    (['png', 'jpeg', 'webp'] as const).map(async (format) => {
      const file = join(folder, `picture.${format}`);
      await sharp(picture).removeAlpha().toFormat(format).toFile(file);
      return file;
    }),
  );
}

/** Draws a square of colored noise as PNG. */
function drawNoise(side: number): Promise<Buffer> {
  const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const;
  const picture = sharp({ create: { width: side, height: side, channels: 3, background: 'gray', noise } });
  return picture.png().toBuffer();
}
