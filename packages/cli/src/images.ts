import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import type { GenerationParams, Genmeter } from '@genmeter/client';
import { InvalidArgumentError } from 'commander';
import { CommandError, EXIT } from './terminal.ts';

/** Image of a parameter: a file of this machine, or a reference that the service resolves. */
type Image = { file: string; bytes: Buffer } | { reference: string };

const REFERENCE = /^(?:https:\/\/|upload:|generation:)/;
/** The service detects the type of the image itself. */
const CONTENT_TYPES = { '.jpg': 'image/jpeg', '.jpeg': 'image/jpeg', '.webp': 'image/webp' } as const;

/** Adds an image, written as `parameter=file`, to those of earlier options. */
export function collectImage(text: string, images: Record<string, string[]> = {}): Record<string, string[]> {
  const [, name, value] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('Write parameter=file, such as first_frame=start.png.');
  return { ...images, [name]: [...(images[name] ?? []), value] };
}

/** Reads the files, before anything is requested. @throws CommandError for one that cannot be read. */
export async function readImages(images: Record<string, string[]> = {}): Promise<Record<string, Image[]>> {
  const read: Record<string, Image[]> = {};
  for (const [name, values] of Object.entries(images)) read[name] = await Promise.all(values.map(readImage));
  return read;
}

async function readImage(value: string): Promise<Image> {
  if (REFERENCE.test(value)) return { reference: value };
  try {
    return { file: value, bytes: await readFile(value) };
  } catch (error) {
    const detail = `The image ${value} cannot be read: ${(error as Error).message}. Nothing was requested.`;
    throw new CommandError(EXIT.usage, 'usage', detail);
  }
}

/** Uploads the files. @returns the parameters that name the images. */
export async function uploadImages(
  client: Genmeter,
  images: Readonly<Record<string, Image[]>>,
  signal: AbortSignal,
): Promise<GenerationParams> {
  const params: GenerationParams = {};
  for (const [name, values] of Object.entries(images)) {
    const references: string[] = [];
    for (const image of values) references.push(await uploadImage(client, image, signal));
    params[name] = references.length === 1 ? references[0] : references;
  }
  return params;
}

async function uploadImage(client: Genmeter, image: Image, signal: AbortSignal): Promise<string> {
  if ('reference' in image) return image.reference;
  const { file, bytes } = image;
  const extension = extname(file).toLowerCase() as keyof typeof CONTENT_TYPES;
  const { uuid, status, error } = await client.uploads.upload(bytes, CONTENT_TYPES[extension] ?? 'image/png', {
    signal,
  });
  if (status !== 'failed') return `upload:${uuid}`;
  throw new CommandError(EXIT.failure, 'invalid_image', `The image ${file} cannot be used. ${error ?? ''}`.trim());
}
