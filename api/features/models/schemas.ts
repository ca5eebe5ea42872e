import Type from 'typebox';
import { getCatalog, getModelSlugs } from '../../../shared/lib/catalog/catalog.ts';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { MODEL_STATUSES } from '../../../shared/spec/states.ts';
import { INPUT_ROLES } from '../../../shared/spec/catalog.ts';
import { timestampOrNull, Uuid } from '../../../shared/presenters/fields.ts';

/** Fields of models of a configured catalog. */
const OFFER_FIELDS = Type.Partial(
  Type.Object({
    pricing: Type.Object(
      {
        min_credits: Type.Integer(),
        max_credits: Type.Integer(),
        formula: Type.Unknown({
          description: 'A number, or a formula of base and per_second with tables by parameters; for each file',
        }),
        outputs: Type.Optional(
          Type.Unknown({ description: 'Number of files: a number, or as a parameter or table says; absent: 1' }),
        ),
      },
      { description: 'Price of a generation, in credits' },
    ),
    inputs: Type.Record(
      Type.String(),
      Type.Object({ role: Type.Enum([...INPUT_ROLES]), max: Type.Integer(), required: Type.Boolean() }),
      { description: 'Parameters that take an image' },
    ),
    deprecated_at: timestampOrNull('Time at which the model is or was deprecated: ISO 8601, UTC'),
  }),
).properties;

export const getModelResponse = perService(() =>
  Type.Object({
    uuid: Uuid,
    slug: buildSlugSchema(),
    name: Type.String(),
    provider: Type.String({ description: 'The provider of the model' }),
    kind: Type.Enum(['video', 'image']),
    description: Type.String(),
    credits_base: Type.Integer({ description: 'Price of the cheapest generation, in credits' }),
    status: Type.Enum([...MODEL_STATUSES], { description: 'Only an offline model rejects creates' }),
    sort_order: Type.Integer(),
    params_schema: buildParamsSchema(),
    ...(getCatalog().id === null ? ({} as typeof OFFER_FIELDS) : OFFER_FIELDS),
  }),
);

const SLUG_OPTIONS = { description: 'Sent as model when creating a generation' };

const buildSlugSchema = () =>
  getCatalog().id === null ? Type.Enum(getModelSlugs(), SLUG_OPTIONS) : Type.String(SLUG_OPTIONS);

const buildParamsSchema = () =>
  Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    properties: {
      durations: { type: 'array', items: { type: 'integer' }, description: 'Seconds' },
      resolutions: { type: 'array', items: { type: 'string' } },
      audio: { type: 'boolean', description: 'Whether sound is supported' },
      aspect_ratios: { type: 'array', items: { type: 'string' } },
    },
    ...(getCatalog().id === null
      ? { required: ['resolutions', 'aspect_ratios'], description: 'The accepted values' }
      : { additionalProperties: true, description: 'The accepted values, and a JSON Schema of `params`' }),
  });
