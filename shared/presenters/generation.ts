import Type, { type Static } from 'typebox';
import { getCatalog, getModelSlugs } from '../lib/catalog/catalog.ts';
import { getModelInfo } from '../lib/catalog/knownModels.ts';
import { config } from '../lib/config.ts';
import { perService } from '../lib/serviceScope.ts';
import type { GenerationParams } from '../spec/catalog.ts';
import { GENERATION_STATUSES } from '../spec/states.ts';
import type { Generation } from '../tables/Generation.ts';
import { countOrNull, textOrNull, Timestamp, timestampOrNull, Uuid } from './fields.ts';

/** Slug of a model. A configured catalog may have had others, which generations keep, and has hidden ones. */
export const buildModelSchema = () => (getCatalog().id === null ? Type.Enum(getModelSlugs()) : Type.String());

/** Parameters of a generation, including the defaults that were filled in. */
export const buildShownParams = () =>
  Type.Unsafe<GenerationParams>({
    ...(getCatalog().id === null
      ? { anyOf: getCatalog().models.map(({ params }) => Type.Object(params.properties)) }
      : { type: 'object' }),
    description: 'The requested parameters, including defaults',
  });

const ShownMetadata = Type.Unsafe<Readonly<Record<string, string>>>({
  type: 'object',
  additionalProperties: { type: 'string' },
  description: 'As in the create; absent without metadata',
});

export const getGenerationResponse = perService(() =>
  Type.Object({
    uuid: Uuid,
    model: buildModelSchema(),
    model_name: Type.String(),
    kind: Type.Enum(['video', 'image']),
    prompt: Type.String(),
    params: buildShownParams(),
    status: Type.Enum([...GENERATION_STATUSES]),
    output_url: textOrNull({ description: 'Download address; null until succeeded' }),
    thumbnail_url: textOrNull({
      description: 'Address of a small preview; null until succeeded, or if none could be created',
    }),
    outputs: Type.Optional(
      Type.Array(Type.Object({ output_url: Type.String(), thumbnail_url: textOrNull() }), {
        description: 'All files, if there are several; output_url is the first',
      }),
    ),
    credits_charged: Type.Integer(),
    error_message: textOrNull({ description: 'Reason of the failure; the credits were refunded' }),
    created_at: Timestamp,
    completed_at: timestampOrNull(),
    duration_ms: countOrNull({ description: 'From created_at to completed_at' }),
    is_watermarked: Type.Boolean(),
    metadata: Type.Optional(ShownMetadata),
  }),
);

/** Columns of a generation that its owner sees. Statements of reads, lists and downloads select them. */
export const SHOWN_COLUMNS = [
  'uuid',
  'model',
  'prompt',
  'params',
  'status',
  'output_path',
  'thumbnail_path',
  'more_outputs',
  'credits_charged',
  'error_message',
  'created_at',
  'completed_at',
  'is_watermarked',
  'metadata',
  'cancel_requested_at',
] as const satisfies readonly (keyof Generation)[];

/** Columns of a generation that its presentation shows. */
export type PresentedGeneration = Pick<Generation, Exclude<(typeof SHOWN_COLUMNS)[number], 'cancel_requested_at'>>;

export function presentGeneration(row: PresentedGeneration): Static<ReturnType<typeof getGenerationResponse>> {
  const model = getModelInfo(row.model);
  return {
    uuid: row.uuid,
    model: row.model,
    model_name: model.name,
    kind: model.kind,
    prompt: row.prompt,
    params: row.params,
    status: row.status,
    ...presentOutputs(row),
    credits_charged: row.credits_charged,
    error_message: row.error_message,
    created_at: row.created_at,
    completed_at: row.completed_at,
    duration_ms: row.completed_at === null ? null : row.completed_at.getTime() - row.created_at.getTime(),
    is_watermarked: row.is_watermarked,
    ...(row.metadata === null ? {} : { metadata: row.metadata }),
  };
}

/** Columns with the files of a generation. */
export type GenerationFiles = Pick<Generation, 'output_path' | 'thumbnail_path' | 'more_outputs'>;

/** Returns a generation without the files, which were deleted. */
export const withoutFiles = <Row extends object>(row: Row): Row & GenerationFiles => ({
  ...row,
  output_path: null,
  thumbnail_path: null,
  more_outputs: null,
});

/** Builds the addresses of all files. */
export function presentOutputs({ output_path: path, thumbnail_path: thumbnail, more_outputs: more }: GenerationFiles) {
  const first = { output_url: buildMediaUrl(path), thumbnail_url: buildMediaUrl(thumbnail) };
  if (path === null || more === null) return first;
  const files = [{ output_path: path, thumbnail_path: thumbnail }, ...more];
  const outputs = files.map((file) => ({
    output_url: buildMediaUrl(file.output_path),
    thumbnail_url: buildMediaUrl(file.thumbnail_path),
  }));
  return { ...first, outputs };
}

function buildMediaUrl(path: string): string;
function buildMediaUrl(path: string | null): string | null;
function buildMediaUrl(path: string | null): string | null {
  return path === null ? null : `${config.CDN_URL}/${path}`;
}
