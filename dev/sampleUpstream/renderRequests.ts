import type { InputImages } from './inputImages.ts';
import type { RequestInput, InputIssue } from './protocols/inputValidation.ts';
import { readChoice, readFlag, readInteger, readOption, readPrompt } from './protocols/inputValidation.ts';

/** The output of one accepted submission. Sizes are in pixels. */
export type RenderRequest = ImageRequest | VideoRequest;

interface CommonRequest {
  prompt: string;
  seed: number;
  width: number;
  height: number;
  /** Images that appear in the output. */
  images?: InputImages;
}

export interface ImageRequest extends CommonRequest {
  kind: 'image';
  count: number;
  format: ImageFormat;
}

export interface VideoRequest extends CommonRequest {
  kind: 'video';
  durationSeconds: number;
  hasSound: boolean;
}

export const IMAGE_FORMATS = ['png', 'jpeg', 'webp'] as const;
export type ImageFormat = (typeof IMAGE_FORMATS)[number];

const VIDEO_RATIOS = {
  auto: 16 / 9,
  '16:9': 16 / 9,
  '9:16': 9 / 16,
  '4:3': 4 / 3,
  '3:4': 3 / 4,
  '1:1': 1,
  '21:9': 21 / 9,
};
const VIDEO_SHORT_SIDES = { '480p': 480, '720p': 720, '1080p': 1080 };

/** Pixels of a 1K image, as in nano-banana-2; the other resolutions are multiples. */
const IMAGE_SIZES = {
  auto: [1024, 1024],
  '1:1': [1024, 1024],
  '16:9': [1376, 768],
  '9:16': [768, 1376],
  '21:9': [1584, 672],
  '3:2': [1264, 848],
  '2:3': [848, 1264],
  '4:3': [1200, 896],
  '3:4': [896, 1200],
  '5:4': [1152, 928],
  '4:5': [928, 1152],
} satisfies Record<string, [number, number]>;
const IMAGE_SCALES = { '0.5K': 0.5, '1K': 1, '2K': 2, '4K': 4 };

/** Reads a video's resolution and ratio. Each protocol has its own field for the length. */
export function readVideoRequest(input: RequestInput, durationSeconds: number, issues: InputIssue[]): VideoRequest {
  const ratio = readOption(input, 'aspect_ratio', VIDEO_RATIOS, '16:9', issues);
  const shortSide = readOption(input, 'resolution', VIDEO_SHORT_SIDES, '720p', issues);
  const [width, height] = computeVideoSize(ratio, shortSide);
  return {
    kind: 'video',
    prompt: readPrompt(input, issues),
    seed: readSeed(input, issues),
    width,
    height,
    durationSeconds,
    hasSound: readFlag(input, 'generate_audio', true, issues),
  };
}

/** Reads the resolution and ratio of images. */
export function readImageRequest(input: RequestInput, countField: string, issues: InputIssue[]): ImageRequest {
  const [width, height] = readOption(input, 'aspect_ratio', IMAGE_SIZES, 'auto', issues);
  const scale = readOption(input, 'resolution', IMAGE_SCALES, '1K', issues);
  return {
    kind: 'image',
    prompt: readPrompt(input, issues),
    seed: readSeed(input, issues),
    width: width * scale,
    height: height * scale,
    count: readInteger(input, countField, { min: 1, max: 4 }, 1, issues),
    format: readChoice(input, 'output_format', IMAGE_FORMATS, 'png', issues),
  };
}

export function generateSeed(): number {
  return Math.floor(Math.random() * 2 ** 31);
}

function readSeed(input: RequestInput, issues: InputIssue[]): number {
  return readInteger(input, 'seed', { min: -1, max: 2 ** 32 - 1 }, generateSeed(), issues);
}

function computeVideoSize(ratio: number, shortSide: number): [number, number] {
  // 4:2:0 video has one chroma sample for two pixels: both sides must be even.
  const longSide = 2 * Math.round((shortSide * Math.max(ratio, 1 / ratio)) / 2);
  return ratio >= 1 ? [longSide, shortSide] : [shortSide, longSide];
}
