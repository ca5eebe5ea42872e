import { fillTemplate, type Template, type TemplateVariables } from '../../../lib/template.ts';
import { readImage, toFormData } from '../formData.ts';
import type { JsonResponse } from '../http.ts';
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
 * Replaces the addresses of images in an input by what a template makes of each: its `address`, `base64` content, `type`
 * and `role` are the variables, with the values of its upload. An address that several images have stands for them in
 * turn.
 * @param template absent, `address` or `file` leaves the addresses as they are.
 * @throws UpstreamError `unavailable` if an image cannot be read or uploaded.
 */
export async function replaceImages(
  input: Record<string, unknown>,
  images: readonly SubmitImage[],
  template: Template = 'address',
  uploads?: ImageUploads,
): Promise<Record<string, unknown>> {
  if (images.length === 0 || template === 'address' || template === 'file') return input;
  const readsContent = JSON.stringify([template, uploads?.steps]).includes('base64');
  const replacements = new Map<string, unknown[]>();
  for (const image of images) {
    const { url: address, contentType: type, role = null } = image;
    const base64 = readsContent ? Buffer.from(await readImage(image)).toString('base64') : null;
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
  return replace(input) as Record<string, unknown>;
}

/** Uploads an image. @returns the values of the responses, by their names. */
async function uploadImage(
  image: SubmitImage,
  imageVariables: TemplateVariables,
  { steps, client, variables, toError }: ImageUploads,
): Promise<TemplateVariables> {
  let found: TemplateVariables = {};
  for (const step of steps) {
    const known = { ...variables, ...imageVariables, ...found };
    const fields = fillTemplate(step.body ?? {}, known) as Record<string, unknown>;
    const body = step.as === 'form' ? await toFormData(fields, { images: [image] }) : fields;
    const response = await client.query(step, client.buildUrl(step, known), known, body);
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
