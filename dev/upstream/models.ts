import type { InputIssue } from './input.ts';
import { readChoice, readFlag, readInteger, readOption, readPrompt } from './input.ts';

/** What one accepted submission asks to be rendered. Sizes are in pixels. */
export type RenderOrder = ImageOrder | VideoOrder;

interface Artwork {
  prompt: string;
  seed: number;
  width: number;
  height: number;
}

export interface ImageOrder extends Artwork {
  kind: 'image';
  count: number;
  format: 'png' | 'jpeg' | 'webp';
}

export interface VideoOrder extends Artwork {
  kind: 'video';
  durationSeconds: number;
  hasSound: boolean;
}

export interface SampleModel {
  id: string;
  /** Reads a submission's input. What does not fit is added to `issues`; the order counts only when there are none. */
  read(input: Record<string, unknown>, issues: InputIssue[]): RenderOrder;
}

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
const VIDEO_DURATIONS = ['4', '5', '6', '7', '8', '9', '10', '11', '12'] as const;

/** Pixels of a 1K image, as nano-banana-2 gives them; the other resolutions are multiples. */
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

const videoModel: SampleModel = {
  id: 'fal-ai/bytedance/seedance/v1.5/pro/text-to-video',
  read(input, issues) {
    const ratio = readOption(input, 'aspect_ratio', VIDEO_RATIOS, '16:9', issues);
    const shortSide = readOption(input, 'resolution', VIDEO_SHORT_SIDES, '720p', issues);
    const duration = readChoice(input, 'duration', VIDEO_DURATIONS, '5', issues);
    const [width, height] = videoSize(ratio, shortSide);
    return {
      kind: 'video',
      prompt: readPrompt(input, issues),
      seed: readInteger(input, 'seed', { min: -1, max: 2 ** 32 - 1 }, randomSeed(), issues),
      width,
      height,
      durationSeconds: Number(duration),
      hasSound: readFlag(input, 'generate_audio', true, issues),
    };
  },
};

const imageModel: SampleModel = {
  id: 'fal-ai/nano-banana-2',
  read(input, issues) {
    const [width, height] = readOption(input, 'aspect_ratio', IMAGE_SIZES, 'auto', issues);
    const scale = readOption(input, 'resolution', IMAGE_SCALES, '1K', issues);
    return {
      kind: 'image',
      prompt: readPrompt(input, issues),
      seed: readInteger(input, 'seed', { min: -1, max: 2 ** 32 - 1 }, randomSeed(), issues),
      width: width * scale,
      height: height * scale,
      count: readInteger(input, 'num_images', { min: 1, max: 4 }, 1, issues),
      format: readChoice(input, 'output_format', ['png', 'jpeg', 'webp'] as const, 'png', issues),
    };
  },
};

const MODELS = new Map([videoModel, imageModel].map((model) => [model.id, model]));

/** The model served at a path such as `fal-ai/nano-banana-2`, if there is one. */
export function findModel(id: string): SampleModel | undefined {
  return MODELS.get(id);
}

/** The two leading segments of a model id: all that fal keeps of it in a request's addresses. */
export function appPathOf(modelId: string): string {
  return modelId.split('/').slice(0, 2).join('/');
}

function videoSize(ratio: number, shortSide: number): [number, number] {
  // 4:2:0 video has one chroma sample for two pixels: both sides must be even.
  const longSide = 2 * Math.round((shortSide * Math.max(ratio, 1 / ratio)) / 2);
  return ratio >= 1 ? [longSide, shortSide] : [shortSide, longSide];
}

function randomSeed(): number {
  return Math.floor(Math.random() * 2 ** 31);
}
