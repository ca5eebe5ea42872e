import {
  type RequestInput,
  type InputIssue,
  buildIssue,
  readChoice,
  readInteger,
  readPrompt,
} from './inputValidation.ts';
import { readInputImages } from '../inputImages.ts';
import { IMAGE_FORMATS, type ImageRequest, generateSeed, type VideoRequest } from '../renderRequests.ts';

/** Bounds in pixels: any size within them is accepted, not only the few of OpenAI's own models. */
interface SizeBounds {
  minSide: number;
  maxSide: number;
  maxPixels: number;
}

const VIDEO_BOUNDS: SizeBounds = { minSide: 64, maxSide: 2560, maxPixels: 2560 * 1440 };
const IMAGE_BOUNDS: SizeBounds = { minSide: 64, maxSide: 8192, maxPixels: 20_000_000 };
const VIDEO_SECONDS = Array.from({ length: 15 }, (_, index) => String(index + 1));

/** Reads the input of a video. `seconds` is a string, as at OpenAI. */
export function readOpenaiVideoRequest(input: RequestInput, issues: InputIssue[]): VideoRequest {
  const [width, height] = readSize(input, VIDEO_BOUNDS, '720x1280', issues);
  return {
    kind: 'video',
    prompt: readPrompt(input, issues),
    seed: generateSeed(),
    width,
    height,
    durationSeconds: Number(readChoice(input, 'seconds', VIDEO_SECONDS, '4', issues)),
    hasSound: true,
    images: readInputImages(input, { first: 'input_reference', references: [] }),
  };
}

/** Reads the input of images. */
export function readOpenaiImageRequest(input: RequestInput, issues: InputIssue[]): ImageRequest {
  const isFree = input['size'] === 'auto';
  const [width, height] = readSize(isFree ? {} : input, IMAGE_BOUNDS, '1024x1024', issues);
  return {
    kind: 'image',
    prompt: readPrompt(input, issues),
    seed: generateSeed(),
    width,
    height,
    count: readInteger(withFormInteger(input, 'n'), 'n', { min: 1, max: 10 }, 1, issues),
    format: readChoice(input, 'output_format', IMAGE_FORMATS, 'png', issues),
    images: readInputImages(input, { references: ['image'] }),
  };
}

/** Converts a number of a form, where it is a text. Forms are recognized by their files. */
function withFormInteger(input: RequestInput, field: string): RequestInput {
  const value = input[field];
  const isForm = typeof input['image'] === 'object';
  return isForm && typeof value === 'string' && /^\d+$/.test(value) ? { ...input, [field]: Number(value) } : input;
}

/** Reads a model's id; any id is accepted. */
export function readModel(input: RequestInput, issues: InputIssue[]): string {
  const value = input['model'] ?? 'sample';
  if (typeof value === 'string' && value !== '') return value;
  issues.push(buildIssue('model', 'string_type', 'Input should be a valid string', value));
  return '';
}

function readSize(
  input: RequestInput,
  { minSide, maxSide, maxPixels }: SizeBounds,
  fallback: string,
  issues: InputIssue[],
): [width: number, height: number] {
  const value = input['size'] ?? fallback;
  const sides = typeof value === 'string' ? /^(\d{1,5})x(\d{1,5})$/.exec(value) : null;
  const [, width, height] = (sides ?? []).map(Number);
  const fits = (side: number | undefined): side is number =>
    side !== undefined && side % 2 === 0 && side >= minSide && side <= maxSide;
  if (fits(width) && fits(height) && width * height <= maxPixels) return [width, height];
  const msg = `Input should be WIDTHxHEIGHT, both even and from ${minSide} to ${maxSide}, at most ${maxPixels} pixels`;
  issues.push(buildIssue('size', 'value_error', msg, value));
  return [minSide, minSide];
}
