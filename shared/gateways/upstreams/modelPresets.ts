import type { ModelKind } from '../../spec/catalog.ts';
import type { Template } from '../../lib/template.ts';
import type { ModelSettings } from './modelSettings.ts';

/** Protocols that are code. */
export const BUILT_IN_ADAPTERS = ['fal', 'openai', 'replicate'] as const;
export type BuiltInAdapter = (typeof BUILT_IN_ADAPTERS)[number];
/** Protocols of upstreams; that of `http` is data. */
export const ADAPTER_NAMES = [...BUILT_IN_ADAPTERS, 'http'] as const;
export type AdapterName = (typeof ADAPTER_NAMES)[number];

/** Settings of an upstream's model, with its input. */
export type UpstreamModelSettings = ModelSettings & { input: Template };

const VIDEO_SIZES = {
  $by: 'resolution aspect_ratio',
  '720p 16:9': '1280x720',
  '720p 9:16': '720x1280',
  '1080p 16:9': '1920x1080',
  '1080p 9:16': '1080x1920',
};

/**
 * Both sides are multiples of 16, as diffusion models require. The largest are those of gpt-image-2, which makes up to
 * 3840x2160 pixels.
 */
const IMAGE_SIZES = {
  $by: 'resolution aspect_ratio',
  '1K 1:1': '1024x1024',
  '1K 16:9': '1376x768',
  '1K 9:16': '768x1376',
  '2K 1:1': '2048x2048',
  '2K 16:9': '2752x1536',
  '2K 9:16': '1536x2752',
  '4K 1:1': '2880x2880',
  '4K 16:9': '3840x2160',
  '4K 9:16': '2160x3840',
};

/** Input of models without a preset or an entry in UPSTREAMS, by protocol. */
export const DEFAULT_INPUTS: Record<BuiltInAdapter, Record<ModelKind, Template>> = {
  fal: {
    video: {
      prompt: '$prompt',
      duration: '{duration}',
      resolution: '$resolution',
      aspect_ratio: '$aspect_ratio',
      generate_audio: '$audio',
    },
    image: { prompt: '$prompt', resolution: '$resolution', aspect_ratio: '$aspect_ratio' },
  },
  openai: {
    video: { prompt: '$prompt', seconds: '{duration}', size: VIDEO_SIZES },
    image: { prompt: '$prompt', n: 1, size: IMAGE_SIZES },
  },
  replicate: {
    video: {
      prompt: '$prompt',
      duration: '$duration',
      resolution: '$resolution',
      aspect_ratio: '$aspect_ratio',
      generate_audio: '$audio',
    },
    image: { prompt: '$prompt', resolution: '$resolution', aspect_ratio: '$aspect_ratio' },
  },
};

/** Billed by tokens: 21,600 per second in 720p and 48,600 in 1080p, at 240 cents a million, half without audio. */
const SEEDANCE_CENTS_PER_SECOND: Template = {
  $by: 'resolution audio',
  '720p true': 5.184,
  '720p false': 2.592,
  '1080p true': 11.664,
  '1080p false': 5.832,
};

const NANO_BANANA_CENTS: Template = { $by: 'resolution', '1K': 8, '2K': 12, '4K': 16 };

/**
 * Models that need no entry in UPSTREAMS, by adapter and id. Prices are the providers' list prices of November 2026 and
 * appear in the staff metrics only; set negotiated prices in UPSTREAMS.
 */
export const MODEL_PRESETS: Record<string, UpstreamModelSettings> = {
  'fal:fal-ai/bytedance/seedance/v1.5/pro/text-to-video': {
    input: DEFAULT_INPUTS.fal.video,
    cents_per_second: SEEDANCE_CENTS_PER_SECOND,
  },
  'fal:fal-ai/bytedance/seedance/v1.5/pro/image-to-video': {
    input: DEFAULT_INPUTS.fal.video,
    cents_per_second: SEEDANCE_CENTS_PER_SECOND,
  },
  'fal:fal-ai/nano-banana-2/edit': {
    input: DEFAULT_INPUTS.fal.image,
    cents: NANO_BANANA_CENTS,
  },
  'fal:fal-ai/nano-banana-2': {
    input: DEFAULT_INPUTS.fal.image,
    cents: NANO_BANANA_CENTS,
  },
};
