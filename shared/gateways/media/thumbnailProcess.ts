import sharp from 'sharp';
import type { ThumbnailResponse, ThumbnailRequest } from './thumbnail.ts';
import { readEarlyFrame } from './videoFrame.ts';

const LONGER_SIDE_PX = 512;
const MAX_INPUT_PIXELS = 50_000_000;

sharp.cache(false);
sharp.concurrency(1);
// Only the formats that `formats.ts` accepts are decoded: no SVG, PDF, HEIF or raw loaders.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: ['VipsForeignLoadPng', 'VipsForeignLoadJpeg', 'VipsForeignLoadWebp'] });

/** The decoder's memory is out of the garbage collector's sight: a process that has grown to this ends. */
const MAX_RESIDENT_BYTES = 256 * 1024 ** 2;

let lastTask = Promise.resolve();
let isExiting = false;

process.on('message', (request: ThumbnailRequest) => {
  lastTask = lastTask.then(() => handleRequest(request));
});
// The worker has let go of this process, or is gone.
process.on('disconnect', () => process.exit(0));

/** Whoever is told that an answer is the last one takes what is still waiting elsewhere. */
async function handleRequest(request: ThumbnailRequest): Promise<void> {
  if (isExiting) return;
  const result = await renderThumbnail(request).catch((error: unknown) =>
    error instanceof Error ? error.message : String(error),
  );
  isExiting = process.memoryUsage.rss() >= MAX_RESIDENT_BYTES;
  const reply: ThumbnailResponse = { result, isLast: isExiting };
  process.send?.(reply);
}

async function renderThumbnail({ kind, filePath, ffmpegPath }: ThumbnailRequest): Promise<Buffer> {
  const options = { limitInputPixels: MAX_INPUT_PIXELS, failOn: 'error', sequentialRead: true } as const;
  const frame = kind === 'video' ? await readEarlyFrame(filePath, ffmpegPath) : null;
  const picture = frame ? sharp(frame.data, options) : sharp(filePath, options).autoOrient();
  return picture
    .resize({ width: LONGER_SIDE_PX, height: LONGER_SIDE_PX, fit: 'inside', withoutEnlargement: true })
    .webp({ quality: 80 })
    .toBuffer();
}
