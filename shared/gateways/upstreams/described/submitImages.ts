import { fillTemplate, type Template } from '../../../lib/template.ts';
import { readImage } from '../formData.ts';
import type { SubmitImage } from '../upstream.ts';

/**
 * Replaces the addresses of images in an input by what a template makes of each: its `address`, `base64` content,
 * `type` and `role` are the variables. An address that several images have stands for them in turn.
 * @param template absent, `address` or `file` leaves the addresses as they are.
 * @throws UpstreamError `unavailable` if an image cannot be read.
 */
export async function replaceImages(
  input: Record<string, unknown>,
  images: readonly SubmitImage[],
  template: Template = 'address',
): Promise<Record<string, unknown>> {
  if (images.length === 0 || template === 'address' || template === 'file') return input;
  const readsContent = JSON.stringify(template).includes('base64');
  const replacements = new Map<string, unknown[]>();
  for (const image of images) {
    const base64 = readsContent ? Buffer.from(await readImage(image)).toString('base64') : null;
    const variables = { address: image.url, base64, type: image.contentType, role: image.role ?? null };
    replacements.set(image.url, [...(replacements.get(image.url) ?? []), fillTemplate(template, variables)]);
  }
  const replace = (value: unknown): unknown => {
    if (typeof value === 'string') {
      const found = replacements.get(value);
      if (found === undefined) return value;
      return found.length > 1 ? found.shift() : found[0];
    }
    if (Array.isArray(value)) return value.map(replace);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, replace(field)]));
  };
  return replace(input) as Record<string, unknown>;
}
