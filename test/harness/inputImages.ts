import { expect } from 'chai';
import sharp from 'sharp';
import type { TestCustomer } from './apiClient.ts';
import type { TestService } from './testService.ts';

const VIDEO_PARAMS = {
  duration: { enum: [5, 10], required: true },
  resolution: { enum: ['720p', '1080p'], default: '720p' },
  audio: { type: 'boolean', default: false },
  aspect_ratio: { enum: ['16:9', '9:16'], default: '16:9' },
};
const IMAGE_PARAMS = {
  resolution: { enum: ['1K', '2K', '4K'], default: '1K' },
  aspect_ratio: { enum: ['16:9', '1:1', '9:16'], default: '1:1' },
};

/** A catalog with models that take images. */
export function buildImageCatalog({
  video = 'fal:fal-ai/bytedance/seedance/v1.5/pro/image-to-video',
  image = 'fal:owner/make-or-edit',
}: {
  video?: string;
  image?: string;
} = {}): string {
  return JSON.stringify({
    models: {
      animate: {
        name: 'Animate',
        kind: 'video',
        description: 'Videos that begin with an image.',
        upstreams: [video],
        params: VIDEO_PARAMS,
        inputs: { first_frame: { role: 'first_frame', required: true }, end: { role: 'last_frame' } },
        credits: { per_second: 7 },
        sort_order: 1,
      },
      edit: {
        name: 'Edit',
        kind: 'image',
        description: 'Changes images.',
        upstreams: [image],
        params: IMAGE_PARAMS,
        inputs: { images: { role: 'reference', max: 3 }, mask: { role: 'mask' } },
        credits: 8,
        sort_order: 2,
      },
    },
  });
}

/** Makes a square JPEG with the colors of print, which take two seconds to convert at 49 megapixels. */
export async function makePrintJpeg(side: number): Promise<Buffer> {
  const create = { width: 1, height: 1, channels: 3, background: 'teal' } as const;
  // The colors of one pixel are converted: those of the whole picture would take seven times as long.
  const pixel = await sharp({ create }).toColourspace('cmyk').jpeg().toBuffer();
  return sharp(pixel)
    .pipelineColourspace('cmyk')
    .resize(side, side, { kernel: 'nearest' })
    .toColourspace('cmyk')
    .jpeg()
    .toBuffer();
}

/** Makes a square PNG with 16 bits, transparency and a color profile, which takes a second at 49 megapixels. */
export async function makeDeepPng(side: number): Promise<Buffer> {
  const create = { width: 1, height: 1, channels: 3, background: 'teal' } as const;
  const pixel = await sharp({ create }).withIccProfile('p3').png().toBuffer();
  return sharp(pixel)
    .keepIccProfile()
    .resize(side, side, { kernel: 'nearest' })
    .ensureAlpha(0.5)
    .toColourspace('rgb16')
    .png({ compressionLevel: 9 })
    .toBuffer();
}

/** Makes an image of one color. */
export async function makeImage(
  format: 'png' | 'jpeg' | 'webp' = 'png',
  { width = 64, height = 48, background = 'teal' } = {},
): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background } })
    .toFormat(format)
    .toBuffer();
}

/** Creates an upload for an image. */
export async function createUpload(
  customer: TestCustomer,
  bytes: number,
  contentType = 'image/png',
): Promise<{ uuid: string; upload_url: string; headers: Record<string, string>; expires_at: string }> {
  const body = { content_type: contentType, bytes };
  const response = await customer.request('POST', '/api/uploads/create/', { body });
  expect(response.status, JSON.stringify(response.body)).to.equal(201);
  return response.body;
}

/** Sends a file to the address of an upload. */
export function putFile(
  { upload_url: url, headers }: { upload_url: string; headers: Record<string, string> },
  file: Uint8Array,
): Promise<Response> {
  return fetch(url, { method: 'PUT', headers, body: file as Uint8Array<ArrayBuffer> });
}

/** Uploads an image. @returns its name for params. */
export async function upload(customer: TestCustomer, file: Uint8Array, contentType = 'image/png'): Promise<string> {
  const created = await createUpload(customer, file.length, contentType);
  const response = await putFile(created, file);
  expect(response.status, await response.text()).to.equal(200);
  return `upload:${created.uuid}`;
}

/** Adds rows of uploads whose files have not arrived. */
export async function addUnusedUploads(
  service: TestService,
  { email }: TestCustomer,
  count: number,
  bytes = 1,
): Promise<void> {
  await service.sql(
    `INSERT INTO uploads (uuid, account_id, source, status, content_type, bytes, created_at, expires_at)
     SELECT gen_random_uuid(), id, 'upload', 'pending', 'image/png', $1, now(), now() + interval '1 day'
       FROM accounts, generate_series(1, $2) WHERE email = $3`,
    [bytes, count, email],
  );
}

/** Sends a create request for a video from an image. */
export function createAnimation(customer: TestCustomer, params: object, more: object = {}) {
  const body = { model: 'animate', prompt: 'waves', params: { duration: 5, ...params }, ...more };
  return customer.request('POST', '/api/generations/create/', { body });
}

/** Sends a create request for an image from images. */
export function createEdit(customer: TestCustomer, images: unknown, headers: Record<string, string> = {}) {
  const body = { model: 'edit', prompt: 'brighter', params: { images } };
  return customer.request('POST', '/api/generations/create/', { body, headers });
}

/** Returns the input of the last generation that the fake upstream accepted. */
export function getLastInput({ upstream }: TestService): Record<string, string> {
  return (upstream.jobs.at(-1)?.input ?? {}) as Record<string, string>;
}

/** Returns the content of an image as RGB values of its first pixel, with its size. */
export async function describeImage(image: Uint8Array): Promise<{ width: number; height: number; pixel: number[] }> {
  const { data, info } = await sharp(image).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, pixel: [...data.subarray(0, 3)] };
}
