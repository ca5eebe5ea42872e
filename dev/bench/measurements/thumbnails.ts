import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { alternateRounds, median, medianRatio } from '../../local/statistics.ts';
import type { BenchChild } from '../childProcess.ts';
import type { BenchEnvironment } from '../environment.ts';
import { withProcessorTime } from '../processUsage.ts';
import type { Measurement } from '../report.ts';

/** Width and height of what models produce. */
const SIDE_PX = 1_024;

interface Rendered {
  count: number;
  bytes: number;
}

/**
 * Measures the processor time of a thumbnail of a picture of 1,024 x 1,024 pixels as PNG, JPEG and WebP, against sharp's
 * defaults for the same size and quality.
 */
export async function measureThumbnails(environment: BenchEnvironment): Promise<Measurement[]> {
  const { rounds, thumbnails } = environment.options;
  const folder = await mkdtemp(join(tmpdir(), 'bench-thumbnails-'));
  try {
    const files = await writePictures(folder);
    const { url } = await environment.database('bench_thumbnails');
    const service = await environment.child('./load/thumbnails.ts', url);
    const plain = await environment.child('./baselines/plainThumbnails.ts', url);
    const render = (child: BenchChild, repetitions: number) =>
      withProcessorTime(
        { thumbnail: child.pid },
        () => child.call<Rendered>('render', files, repetitions),
        ({ count }) => count,
      );
    // Starts the child process and loads what the first picture needs.
    await Promise.all([render(service, 1), render(plain, 1)]);
    const { a, b } = await alternateRounds(
      rounds,
      () => render(service, thumbnails.repetitions),
      () => render(plain, thumbnails.repetitions),
    );
    await Promise.all([service.end(), plain.end()]);
    const [ms, plainMs] = [a, b].map((results) =>
      results.map(({ microseconds }) => (microseconds['thumbnail µs'] ?? Number.NaN) / 1_000),
    ) as [number[], number[]];
    const kilobytes = (results: typeof a) => median(results.map(({ result }) => result.bytes)) / 1_000;
    return [
      {
        target: 'thumbnail',
        value: medianRatio({ a: ms, b: plainMs }),
        parts: { 'CPU ms': median(ms), 'default ms': median(plainMs), kB: kilobytes(a), 'default kB': kilobytes(b) },
      },
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Writes one picture in three formats: clouds of several sizes with grain, which compress like a photograph. */
async function writePictures(folder: string): Promise<string[]> {
  let picture = sharp(await drawNoise(SIDE_PX));
  for (const [cells, opacity] of [
    [256, 0.5],
    [64, 0.6],
    [8, 0.7],
  ] as const) {
    const layer = await sharp(await drawNoise(cells))
      .resize(SIDE_PX, SIDE_PX, { kernel: 'cubic' })
      .ensureAlpha(opacity)
      .png()
      .toBuffer();
    picture = sharp(
      await picture
        .composite([{ input: layer }])
        .png()
        .toBuffer(),
    );
  }
  const formats = ['png', 'jpeg', 'webp'] as const;
  return Promise.all(
    formats.map(async (format) => {
      const file = join(folder, `picture.${format}`);
      await picture.clone().removeAlpha().toFormat(format).toFile(file);
      return file;
    }),
  );
}

/** Draws a square of colored noise as PNG. */
function drawNoise(side: number): Promise<Buffer> {
  const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const;
  return sharp({ create: { width: side, height: side, channels: 3, background: 'gray', noise } })
    .png()
    .toBuffer();
}
