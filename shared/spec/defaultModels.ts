import type { ModelDefinition } from './catalog.ts';

/** The models of the contract, with their prices (spec: Model). A configured catalog replaces them. */
export const DEFAULT_MODELS: Readonly<Record<string, ModelDefinition>> = {
  'vidmodel-video': {
    uuid: '6f1b7c9e-2d43-4a58-9c1e-0b6a4f7d8e21',
    name: 'Video model',
    kind: 'video',
    description: 'Videos of 5 or 10 seconds from a text prompt, with sound if wanted.',
    params: {
      duration: { enum: [5, 10], required: true, description: 'Length of the video in seconds.' },
      resolution: { enum: ['720p', '1080p'], required: true },
      audio: { type: 'boolean', default: false, description: 'Whether the video gets sound.' },
      aspect_ratio: { enum: ['16:9', '9:16'], default: '16:9' },
    },
    // A video is priced by the second; resolution and sound do not change it.
    credits: { per_second: 7 },
    sort_order: 1,
  },
  'imgmodel-2': {
    uuid: 'c25e8a13-77d0-4f3b-8e94-5d1a9b0c6f42',
    name: 'Image model',
    kind: 'image',
    description: 'Images from a text prompt, up to 4K.',
    params: {
      resolution: { enum: ['1K', '2K', '4K'], required: true },
      aspect_ratio: { enum: ['16:9', '1:1', '9:16'], default: '1:1' },
    },
    credits: 8,
    sort_order: 2,
  },
};
