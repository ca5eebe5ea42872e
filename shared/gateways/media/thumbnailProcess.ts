import { writeFile } from 'node:fs/promises';
import sharp from 'sharp';
import type { ThumbnailReply, ThumbnailRequest } from './thumbnail.ts';
import { readEarlyFrame } from './videoFrame.ts';

const LONGER_SIDE_PX = 512;
const MAX_INPUT_PIXELS = 50_000_000;

sharp.cache(false);
sharp.concurrency(1);
// Whatever an upstream may send, only the formats of generated pictures are looked into: no SVG, PDF or raw loaders.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['VipsForeignLoadPng', 'VipsForeignLoadJpeg', 'VipsForeignLoadWebp', 'VipsForeignLoadHeif'],
});

process.on('message', (request: ThumbnailRequest) => void answer(request));
// The worker has let go of this process, or is gone.
process.on('disconnect', () => process.exit(0));

async function answer(request: ThumbnailRequest): Promise<void> {
  const reply: ThumbnailReply = { error: await run(request), residentBytes: process.memoryUsage.rss() };
  process.send?.(reply);
}

/** Makes one thumbnail, and says what went wrong if it could not. */
async function run(request: ThumbnailRequest): Promise<string | null> {
  try {
    // Written only once it is whole, so that a broken file leaves no half thumbnail.
    await writeFile(request.outputPath, await render(request));
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function render({ kind, filePath, ffmpegPath }: ThumbnailRequest): Promise<Buffer> {
  const options = { limitInputPixels: MAX_INPUT_PIXELS, failOn: 'error', sequentialRead: true } as const;
  const frame = kind === 'video' ? await readEarlyFrame(filePath, ffmpegPath) : null;
  const picture = frame ? sharp(frame.data, options) : sharp(filePath, options).autoOrient();
  return picture
    .resize({ width: LONGER_SIDE_PX, height: LONGER_SIDE_PX, fit: 'inside', withoutEnlargement: true })
    .webp({ quality: 80 })
    .toBuffer();
}
