import { randomUUID } from 'node:crypto';
import { fillTemplate, type Template, type TemplateVariables } from '../../../lib/template.ts';
import type { JsonResponse } from '../http.ts';
import { type InlineImages, toForm } from '../requestBody.ts';
import { describeStatus } from '../responses.ts';
import { type SubmitImage, UpstreamError } from '../upstream.ts';
import type { createClient } from './client.ts';
import type { ProtocolUpload } from './protocol.ts';
import { readText } from './responseValues.ts';

/** Requests that send an image to the provider before the submit. */
export interface ImageUploads {
  steps: readonly ProtocolUpload[];
  client: Pick<ReturnType<typeof createClient>, 'buildUrl' | 'query'>;
  /** Variables of all steps besides those of the image. */
  variables: TemplateVariables;
  toError: (response: JsonResponse) => UpstreamError;
}

/**
 * Replaces the addresses of images in an input by what a template makes of each: its `address`, `base64` content,
 * `type` and `role` are the variables, with the values of its upload. An address that several images have stands for
 * them in turn.
 * @param template absent, `address` or `file` leaves the addresses as they are.
 * @returns the input, with a text in the place of each base64 content, and the images by these texts.
 * @throws UpstreamError `unavailable` if an image cannot be uploaded.
 */
export async function replaceImages(
  input: Record<string, unknown>,
  images: readonly SubmitImage[],
  template: Template = 'address',
  uploads?: ImageUploads,
): Promise<{ input: Record<string, unknown>; inlineImages: InlineImages }> {
  const inlineImages = new Map<string, SubmitImage>();
  if (images.length === 0 || template === 'address' || template === 'file') return { input, inlineImages };
  const replacements = new Map<string, unknown[]>();
  for (const image of images) {
    const { url: address, contentType: type, role = null } = image;
    const base64 = `base64-${randomUUID()}`;
    inlineImages.set(base64, image);
    const variables = { address, base64, type, role };
    const values = uploads === undefined ? {} : await uploadImage(image, variables, uploads);
    const replacement = fillTemplate(template, { ...variables, ...values });
    replacements.set(address, [...(replacements.get(address) ?? []), replacement]);
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
  return { input: replace(input) as Record<string, unknown>, inlineImages };
}

/** Uploads an image. @returns the values of the responses, by their names. */
async function uploadImage(
  image: SubmitImage,
  imageVariables: TemplateVariables & { base64: string },
  { steps, client, variables, toError }: ImageUploads,
): Promise<TemplateVariables> {
  let found: TemplateVariables = {};
  for (const step of steps) {
    const known = { ...variables, ...imageVariables, ...found };
    const fields = fillTemplate(step.body ?? {}, known) as Record<string, unknown>;
    const body = step.as === 'form' ? toForm(fields, [image]) : fields;
    const inlineImages = new Map([[imageVariables.base64, image]]);
    const response = await client.query(step, client.buildUrl(step, known), known, { body, inlineImages });
    if (response.status >= 300) throw toError(response);
    for (const [name, at] of Object.entries(step.values ?? {})) {
      const value = readText(response, at);
      if (value === undefined)
        throw new UpstreamError('unavailable', `${describeStatus(response)} An upload has no value at ${at}.`);
      found = { ...found, [name]: value };
    }
  }
  return found;
}
