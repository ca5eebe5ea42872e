import { FormData } from 'undici';
import { type SubmitImage, UpstreamError } from './upstream.ts';

/**
 * Builds form data. Addresses of the images become files; a list of them has one part each, in a field whose name ends
 * in `[]`. Other values that are not strings are sent as JSON.
 * @throws UpstreamError `unavailable` if an image cannot be read.
 */
export async function toFormData(
  body: Record<string, unknown>,
  images: readonly SubmitImage[] = [],
): Promise<FormData> {
  const form = new FormData();
  const findImage = (value: unknown) => images.find(({ url }) => url === value);
  for (const [name, value] of Object.entries(body)) {
    const values: unknown[] = Array.isArray(value) ? value : [value];
    const found = values.map(findImage).filter((image) => image !== undefined);
    if (values.length > 0 && found.length === values.length) {
      const field = Array.isArray(value) ? `${name}[]` : name;
      for (const image of found) form.append(field, await readAsFile(image), buildFileName(image));
    } else form.set(name, typeof value === 'string' ? value : JSON.stringify(value));
  }
  return form;
}

async function readAsFile(image: SubmitImage): Promise<Blob> {
  const bytes = await image.read().catch((error: unknown) => {
    throw new UpstreamError('unavailable', `An input image could not be read: ${(error as Error).message}`);
  });
  return new Blob([bytes as Uint8Array<ArrayBuffer>], { type: image.contentType });
}

function buildFileName({ contentType }: SubmitImage): string {
  return `image.${contentType.slice('image/'.length)}`;
}
