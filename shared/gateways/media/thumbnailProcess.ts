import { readFile } from 'node:fs/promises';
import sharp, { type Metadata, type Sharp } from 'sharp';
import type { ReencodedImage, ReencodeRequest, ThumbnailResponse, ThumbnailRequest } from './thumbnail.ts';
import { readEarlyFrame } from './videoFrame.ts';

const LONGER_SIDE_PX = 512;
/** Takes two thirds of the processor time of the default, 4, and gives a file that is 1 to 5 % larger. */
const THUMBNAIL_EFFORT = 2;
const MAX_INPUT_PIXELS = 50_000_000;
/** A decoder holds several lines at a time. */
const MAX_SIDE_PX = 30_000;
/** Memory for the picture; about 250 MB with the process, which is below its limit, see `thumbnail.ts`. */
const MAX_PICTURE_BYTES = 160_000_000;

sharp.cache(false);
sharp.concurrency(1);
// Only the formats that `formats.ts` accepts are decoded: no SVG, PDF, HEIF or raw loaders.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: ['VipsForeignLoadPng', 'VipsForeignLoadJpeg', 'VipsForeignLoadWebp'] });

/** Memory at which the process exits: the garbage collector does not manage the decoders' memory. */
const MAX_RESIDENT_BYTES = 256 * 1024 ** 2;
/**
 * Size of its data at which a process for customers' images exits. Decoders keep address space that they have freed,
 * which counts towards the limit of the process, so that the next image would be taken for one that is too large.
 */
const MAX_DATA_KB = 230_000;

process.on('message', (request: ThumbnailRequest) => void handleRequest(request));
// The worker has stopped this process, or has died.
process.on('disconnect', () => process.exit(0));

async function handleRequest(request: ThumbnailRequest): Promise<void> {
  const startedAt = performance.now();
  const work = request.kind === 'reencode' ? reencode(request) : renderThumbnail(request);
  const result = await work.catch(async (error: unknown) => ({
    error: error instanceof Error ? error.message : String(error),
    isLocalFault: request.kind === 'reencode' && (await isLocalFault(request.filePath)),
  }));
  const ms = performance.now() - startedAt;
  const isFull = request.kind === 'reencode' && (await readDataKb()) >= MAX_DATA_KB;
  const isLast = isFull || process.memoryUsage.rss() >= MAX_RESIDENT_BYTES;
  const reply: ThumbnailResponse = { result, ms, isLast };
  process.send?.(reply);
}

/** Returns the size of the data of this process; 0 on systems other than Linux, which do not limit it. */
async function readDataKb(): Promise<number> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  return Number(/^VmData:\s*(\d+) kB/m.exec(status)?.[1] ?? 0);
}

const DECODE_OPTIONS = { limitInputPixels: MAX_INPUT_PIXELS, failOn: 'error', sequentialRead: true } as const;

/**
 * Returns whether the failure of an image was a fault of this machine, such as a full disk: it can be decoded if
 * nothing is written, or its file cannot be read.
 */
async function isLocalFault(filePath: string): Promise<boolean> {
  const data = await readFile(filePath).catch(() => null);
  if (data === null) return true;
  try {
    await (await openImage(data)).stats();
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
  if ('data' in request) return openImage(request.data);
  const { kind, filePath, ffmpegPath } = request;
  if (kind === 'image') return openImage(filePath);
  return sharp(await readEarlyFrame(filePath, ffmpegPath), DECODE_OPTIONS);
}

/** Opens an image that can be decoded within the limits, as its header says. */
async function openImage(source: string | Uint8Array): Promise<Sharp> {
  const picture = sharp(source, DECODE_OPTIONS);
  const metadata = await picture.metadata();
  if (Math.max(metadata.width, metadata.height) > MAX_SIDE_PX) throw new Error('the image exceeds the pixel limit');
  if (countPictureBytes(metadata) > MAX_PICTURE_BYTES) throw new Error('the image exceeds the memory limit');
  return picture.autoOrient();
}

/** Memory in bytes of what a decoder cannot handle line by line: WebP, interlaced, progressive and rotated images. */
function countPictureBytes(metadata: Metadata): number {
  const { format, width, height, channels, depth, hasAlpha, isProgressive, orientation, chromaSubsampling } = metadata;
  const sampleBytes = depth === 'ushort' ? 2 : 1;
  const pictureBytes = channels * sampleBytes;
  // The decoder of WebP holds the frame and the canvas, with alpha, and more.
  // A picture with alpha becomes a PNG, which takes long to encode.
  const webpBytes = hasAlpha ? 19 : 9.5;
  // JPEG holds a coefficient of two bytes for each sample.
  const coefficientBytes = 2 * (chromaSubsampling === '4:2:0' ? 1.5 : channels);
  const decodedBytes = format === 'webp' ? webpBytes : format === 'jpeg' ? coefficientBytes : pictureBytes;
  const isWhole = format === 'webp' || isProgressive;
  const isRotated = orientation !== undefined && orientation > 1;
  return width * height * ((isWhole ? decodedBytes : 0) + (isRotated ? pictureBytes : 0));
}

/**
 * Encodes a PNG as PNG, a JPEG as JPEG, and a WebP as either, since an encoder of WebP takes several times their time
 * and memory. Metadata is not written unless it is asked for, and colors are converted to sRGB. Optimized Huffman
 * tables would hold the whole picture, and higher compression of a PNG can take ten times as long.
 */
async function reencode({ filePath, outputPath }: ReencodeRequest): Promise<ReencodedImage> {
  const picture = await openImage(filePath);
  const { format, hasAlpha, chromaSubsampling } = await picture.metadata();
  const isJpeg = format === 'jpeg' || (format === 'webp' && !hasAlpha);
  const subsampling = chromaSubsampling === '4:2:0' ? '4:2:0' : '4:4:4';
  const encoded = isJpeg
    ? picture.jpeg({ quality: 95, chromaSubsampling: subsampling, optimiseCoding: false })
    : picture.png({ compressionLevel: 2 });
  const { width, height, size } = await encoded.toFile(outputPath);
  return { format: isJpeg ? 'jpeg' : 'png', width, height, bytes: size };
}
