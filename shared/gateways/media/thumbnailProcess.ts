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

/** Memory at which the process exits: the garbage collector does not manage the decoders' memory. */
const MAX_RESIDENT_BYTES = 256 * 1024 ** 2;

let lastTask = Promise.resolve();
let isExiting = false;

process.on('message', (request: ThumbnailRequest) => {
  lastTask = lastTask.then(() => handleRequest(request));
});
// The worker has stopped this process, or has died.
process.on('disconnect', () => process.exit(0));

/** Handles one request. After the last response the worker moves the remaining tasks to another process. */
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
