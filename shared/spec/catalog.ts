import Type, { type Static } from 'typebox';

/** The two models on sale, what they accept and what they cost (spec: Model; docs/decisions.md: Generations). */

export const VIDEO_DURATIONS_SECONDS = [5, 10] as const;
export const VIDEO_RESOLUTIONS = ['720p', '1080p'] as const;
export const VIDEO_ASPECT_RATIOS = ['16:9', '9:16'] as const;
export const IMAGE_RESOLUTIONS = ['1K', '2K', '4K'] as const;
export const IMAGE_ASPECT_RATIOS = ['16:9', '1:1', '9:16'] as const;

const VIDEO_CREDITS_PER_SECOND = 7;
const IMAGE_CREDITS = 8;

export const VideoParams = Type.Object(
  {
    duration: enumSchema(VIDEO_DURATIONS_SECONDS, { description: 'Length of the video in seconds.' }),
    resolution: enumSchema(VIDEO_RESOLUTIONS),
    audio: Type.Boolean({ default: false, description: 'Whether the video gets sound.' }),
    aspect_ratio: enumSchema(VIDEO_ASPECT_RATIOS, { default: '16:9' }),
  },
  { additionalProperties: false, required: ['duration', 'resolution'] },
);

export const ImageParams = Type.Object(
  {
    resolution: enumSchema(IMAGE_RESOLUTIONS),
    aspect_ratio: enumSchema(IMAGE_ASPECT_RATIOS, { default: '1:1' }),
  },
  { additionalProperties: false, required: ['resolution'] },
);

export type VideoParams = Static<typeof VideoParams>;
export type ImageParams = Static<typeof ImageParams>;
export type GenerationParams = VideoParams | ImageParams;

export const MODEL_SLUGS = ['vidmodel-video', 'imgmodel-2'] as const;
export type ModelSlug = (typeof MODEL_SLUGS)[number];
export const MODEL_KINDS = ['video', 'image'] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];

export interface CatalogModel {
  uuid: string;
  slug: ModelSlug;
  name: string;
  kind: ModelKind;
  description: string;
  /** The cheapest generation, in credits. */
  creditsBase: number;
  sortOrder: number;
  /** Validates a request's `params` and fills in what it left out. */
  params: typeof VideoParams | typeof ImageParams;
  /** The accepted values, as `GET /api/models/` shows them. */
  paramsSchema: Record<string, unknown>;
}

export const MODELS: readonly CatalogModel[] = [
  {
    uuid: '6f1b7c9e-2d43-4a58-9c1e-0b6a4f7d8e21',
    slug: 'vidmodel-video',
    name: 'Video model',
    kind: 'video',
    description: 'Videos of 5 or 10 seconds from a text prompt, with sound if wanted.',
    creditsBase: VIDEO_CREDITS_PER_SECOND * Math.min(...VIDEO_DURATIONS_SECONDS),
    sortOrder: 1,
    params: VideoParams,
    paramsSchema: {
      durations: VIDEO_DURATIONS_SECONDS,
      resolutions: VIDEO_RESOLUTIONS,
      audio: true,
      aspect_ratios: VIDEO_ASPECT_RATIOS,
    },
  },
  {
    uuid: 'c25e8a13-77d0-4f3b-8e94-5d1a9b0c6f42',
    slug: 'imgmodel-2',
    name: 'Image model',
    kind: 'image',
    description: 'Images from a text prompt, up to 4K.',
    creditsBase: IMAGE_CREDITS,
    sortOrder: 2,
    params: ImageParams,
    paramsSchema: { resolutions: IMAGE_RESOLUTIONS, aspect_ratios: IMAGE_ASPECT_RATIOS },
  },
];

const MODEL_BY_SLUG = new Map<string, CatalogModel>(MODELS.map((model) => [model.slug, model]));

/** @throws Error when no such model exists: a slug is validated, or was stored by us, before it gets here. */
export function getModelBySlug(slug: string): CatalogModel {
  const model = MODEL_BY_SLUG.get(slug);
  if (model === undefined) throw new Error(`No model is called ${slug}.`);
  return model;
}

/** Credits that a generation costs. A video is priced by the second; resolution and sound do not change it. */
export function priceInCredits(params: GenerationParams): number {
  return 'duration' in params ? VIDEO_CREDITS_PER_SECOND * params.duration : IMAGE_CREDITS;
}

/** Every combination of parameters that a model accepts. */
export function allParams(slug: ModelSlug): GenerationParams[] {
  if (slug === 'vidmodel-video') {
    return VIDEO_DURATIONS_SECONDS.flatMap((duration) =>
      VIDEO_RESOLUTIONS.flatMap((resolution) =>
        VIDEO_ASPECT_RATIOS.flatMap((aspect_ratio) =>
          [true, false].map((audio) => ({ duration, resolution, audio, aspect_ratio })),
        ),
      ),
    );
  }
  return IMAGE_RESOLUTIONS.flatMap((resolution) =>
    IMAGE_ASPECT_RATIOS.map((aspect_ratio) => ({ resolution, aspect_ratio })),
  );
}

function enumSchema<const Values extends readonly (string | number)[]>(
  values: Values,
  options: Record<string, unknown> = {},
) {
  return Type.Enum(values as unknown as [Values[number]], options);
}
