import { readFile } from 'node:fs/promises';
import sharp, { type Sharp } from 'sharp';
import type { ReencodedImage, ReencodeRequest, ThumbnailResponse, ThumbnailRequest } from './thumbnail.ts';
import { readEarlyFrame } from './videoFrame.ts';

const LONGER_SIDE_PX = 512;
/** Takes two thirds of the processor time of the default, 4, and gives a file that is 1 to 5 % larger. */
const THUMBNAIL_EFFORT = 2;
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
  const work = request.kind === 'reencode' ? reencode(request) : renderThumbnail(request);
  const result = await work.catch(async (error: unknown) => ({
    error: error instanceof Error ? error.message : String(error),
    isLocalFault: request.kind === 'reencode' && (await isLocalFault(request.filePath)),
  }));
  isExiting = process.memoryUsage.rss() >= MAX_RESIDENT_BYTES;
  const reply: ThumbnailResponse = { result, isLast: isExiting };
  process.send?.(reply);
}

const DECODE_OPTIONS = { limitInputPixels: MAX_INPUT_PIXELS, failOn: 'error', sequentialRead: true } as const;

/**
 * Returns whether the failure of an image was a fault of this machine, such as a full disk: it can be decoded if nothing
 * is written, or its file cannot be read.
 */
async function isLocalFault(filePath: string): Promise<boolean> {
  const data = await readFile(filePath).catch(() => null);
  if (data === null) return true;
  try {
    await sharp(data, DECODE_OPTIONS).stats();
    return true;
  } catch {
    return false;
  }
}

type ThumbnailSourceRequest = Exclude<ThumbnailRequest, ReencodeRequest>;

async function renderThumbnail(request: ThumbnailSourceRequest): Promise<Buffer> {
  const picture = await openPicture(request);
  return picture
    .resize({ width: LONGER_SIDE_PX, height: LONGER_SIDE_PX, fit: 'inside', withoutEnlargement: true })
    .webp({ quality: 80, effort: THUMBNAIL_EFFORT })
    .toBuffer();
}

async function openPicture(request: ThumbnailSourceRequest): Promise<Sharp> {
  if ('data' in request) return sharp(request.data, DECODE_OPTIONS).autoOrient();
  const { kind, filePath, ffmpegPath } = request;
  if (kind === 'image') return sharp(filePath, DECODE_OPTIONS).autoOrient();
  return sharp((await readEarlyFrame(filePath, ffmpegPath)).data, DECODE_OPTIONS);
}

const ENCODERS: Record<ReencodedImage['format'], (picture: Sharp) => Sharp> = {
  png: (picture) => picture.png({ compressionLevel: 6 }),
  jpeg: (picture) => picture.jpeg({ quality: 95, chromaSubsampling: '4:4:4' }),
  webp: (picture) => picture.webp({ quality: 95 }),
};

/** Keeps the format. Metadata is not written unless it is asked for, and colors are converted to sRGB. */
async function reencode({ filePath, outputPath }: ReencodeRequest): Promise<ReencodedImage> {
  const picture = sharp(filePath, DECODE_OPTIONS);
  const { format } = await picture.metadata();
  if (format !== 'png' && format !== 'jpeg' && format !== 'webp') throw new Error(`unsupported format ${format}`);
  const { width, height, size } = await ENCODERS[format](picture.autoOrient()).toFile(outputPath);
  return { format, width, height, bytes: size };
}
