import { buildIssue, type InputIssue, readChoice, readInteger, type RequestInput } from './inputValidation.ts';
import type { ProtocolRequest } from './protocol.ts';

/**
 * Extracts of the published descriptions of fal, OpenAI and Replicate: what their servers reject and other servers of
 * the same protocol may accept. A request of the service that breaks them fails a test instead of a customer's
 * generation.
 */

/** OpenAI's `CreateImageRequest` and `CreateImageEditRequest`, for its own models. */
export function checkGptImage(input: RequestInput, issues: InputIssue[]): void {
  const generation = /(?:^|\/)gpt-image-(\d)/.exec(String(input['model']))?.[1];
  if (generation === undefined) return;
  const isEdit = input['image'] !== undefined;
  requireFields(input, [...GPT_IMAGE_FIELDS, ...(isEdit ? GPT_EDIT_FIELDS : ['moderation'])], issues);
  readChoice(input, 'quality', ['auto', 'low', 'medium', 'high'], 'auto', issues);
  readChoice(input, 'background', ['auto', 'opaque', 'transparent'], 'auto', issues);
  readChoice(input, 'moderation', ['auto', 'low'], 'auto', issues);
  readInteger(input, 'output_compression', { min: 0, max: 100 }, 100, issues);
  const { size = 'auto', image } = input;
  const sizes = generation === '1' ? ['auto', '1024x1024', '1536x1024', '1024x1536'] : undefined;
  if (sizes === undefined ? !isFreeSize(size) : !sizes.includes(String(size)))
    issues.push(buildIssue('size', 'value_error', `Invalid size '${String(size)}'`, size));
  if (Array.isArray(image) && image.length > GPT_IMAGES_MAX)
    issues.push(buildIssue('image', 'too_long', `Input should have at most ${GPT_IMAGES_MAX} images`, image.length));
}

const GPT_IMAGE_FIELDS = [
  'model',
  'prompt',
  'n',
  'size',
  'quality',
  'background',
  'output_format',
  'output_compression',
  'user',
];
const GPT_EDIT_FIELDS = ['image', 'mask', 'input_fidelity'];
const GPT_IMAGES_MAX = 16;

/** Both sides divisible by 16, a ratio of up to 3:1, and at most 3840x2160 pixels, also upright or square. */
function isFreeSize(size: unknown): boolean {
  if (size === 'auto') return true;
  const [, width = 0, height = 0] = (/^(\d+)x(\d+)$/.exec(String(size)) ?? []).map(Number);
  const [short, long] = [Math.min(width, height), Math.max(width, height)];
  const isWithin = width * height >= 655_360 && width * height <= 8_294_400 && long <= 3_840 && long <= 3 * short;
  return isWithin && width % 16 === 0 && height % 16 === 0;
}

/** Replicate's `predictions.create`: its headers and its body around the input of the model. */
export function checkPrediction({ headers, body }: ProtocolRequest, hasModel: boolean, issues: InputIssue[]): void {
  const { prefer = 'wait', 'cancel-after': cancelAfter = '60s' } = headers;
  if (!/^wait(=([1-9]|[1-5]\d|60))?$/.test(String(prefer)))
    issues.push(buildIssue('Prefer', 'value_error', 'Prefer must be wait, or wait=n with up to 60 seconds', prefer));
  const seconds = /^(\d+)s?$/.exec(String(cancelAfter))?.[1];
  if (Number(seconds) < 5 || !/^(\d+h)?(\d+m)?(\d+s?)?$/.test(String(cancelAfter)))
    issues.push(buildIssue('Cancel-After', 'value_error', 'Cancel-After must be at least 5s', cancelAfter));
  if (!('input' in body)) return;
  const fields = ['input', 'webhook', 'webhook_events_filter', 'stream'];
  requireFields(body.input, hasModel ? fields : ['version', ...fields], issues);
  const { webhook, webhook_events_filter: events = [] } = body.input;
  if (webhook !== undefined) requireAddress('webhook', webhook, issues);
  const known = ['start', 'output', 'logs', 'completed'];
  if (!Array.isArray(events) || !events.every((event) => known.includes(String(event))))
    issues.push(buildIssue('webhook_events_filter', 'enum', `Input should be ${known.join(', ')}`, events));
}

/** fal's queue, and the images that its models require. */
export function checkFalRequest(model: string, { query, body }: ProtocolRequest, issues: InputIssue[]): void {
  const webhook = query.get('fal_webhook');
  if (webhook !== null) requireAddress('fal_webhook', webhook, issues);
  for (const [suffix, field] of FAL_IMAGE_FIELDS) {
    const value = 'input' in body ? body.input[field] : undefined;
    if (model.endsWith(suffix) && value === undefined)
      issues.push(buildIssue(field, 'missing', 'Field required', null));
  }
}

const FAL_IMAGE_FIELDS = [
  ['/seedance/v1.5/pro/image-to-video', 'image_url'],
  ['/nano-banana-2/edit', 'image_urls'],
] as const;

/** Only OpenAI's images and videos take forms. */
export function isJson({ headers }: ProtocolRequest): boolean {
  return /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '');
}

function requireFields(input: RequestInput, known: readonly string[], issues: InputIssue[]): void {
  for (const name of Object.keys(input)) {
    if (!known.includes(name))
      issues.push(buildIssue(name, 'extra_forbidden', `Unknown parameter: '${name}'`, input[name]));
  }
}

function requireAddress(field: string, value: unknown, issues: InputIssue[]): void {
  if (typeof value !== 'string' || !/^https?:\/\/\S+$/.test(value))
    issues.push(buildIssue(field, 'url_parsing', 'Input should be a valid URL', value));
}
