import { FormData } from 'undici';
import { type SubmitImage, UpstreamError } from './upstream.ts';

export interface FormOptions {
  images?: readonly SubmitImage[];
  /** Text after the name of a field with several files. */
  listSuffix?: string;
}

/**
 * Builds form data. Addresses of the images become files; a list of them has one part each. Other values that are not
 * strings are sent as JSON.
 * @throws UpstreamError `unavailable` if an image cannot be read.
 */
export async function toFormData(
  body: Record<string, unknown>,
  { images = [], listSuffix = '' }: FormOptions = {},
): Promise<FormData> {
  const form = new FormData();
  const findImage = (value: unknown) => images.find(({ url }) => url === value);
  for (const [name, value] of Object.entries(body)) {
    const values: unknown[] = Array.isArray(value) ? value : [value];
    const found = values.map(findImage).filter((image) => image !== undefined);
    if (values.length > 0 && found.length === values.length) {
      const field = Array.isArray(value) ? `${name}${listSuffix}` : name;
      for (const image of found) form.append(field, await readAsFile(image), buildFileName(image));
    } else form.set(name, typeof value === 'string' ? value : JSON.stringify(value));
  }
  return form;
}

async function readAsFile(image: SubmitImage): Promise<Blob> {
  return new Blob([(await readImage(image)) as Uint8Array<ArrayBuffer>], { type: image.contentType });
}

/** Reads an image of the input. @throws UpstreamError `unavailable` if it cannot be read. */
export async function readImage(image: SubmitImage): Promise<Uint8Array> {
  try {
    return await image.read();
  } catch (error) {
    throw new UpstreamError('unavailable', `An input image could not be read: ${(error as Error).message}`);
  }
}

function buildFileName({ contentType }: SubmitImage): string {
  return `image.${contentType.slice('image/'.length)}`;
}
