import Type from 'typebox';
import { getModelSlugs } from '../../../shared/lib/catalog/catalog.ts';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { MODEL_STATUSES } from '../../../shared/spec/states.ts';
import { Uuid } from '../../../shared/presenters/fields.ts';

export const getModelResponse = perService(() =>
  Type.Object({
    uuid: Uuid,
    slug: Type.Enum(getModelSlugs(), { description: 'Sent as model when creating a generation' }),
    name: Type.String(),
    provider: Type.String({ description: 'The provider of the model' }),
    kind: Type.Enum(['video', 'image']),
    description: Type.String(),
    credits_base: Type.Integer({ description: 'Price of the cheapest generation, in credits' }),
    status: Type.Enum([...MODEL_STATUSES], { description: 'Only an offline model rejects creates' }),
    sort_order: Type.Integer(),
    params_schema: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      properties: {
        durations: { type: 'array', items: { type: 'integer' }, description: 'Seconds' },
        resolutions: { type: 'array', items: { type: 'string' } },
        audio: { type: 'boolean', description: 'Whether sound is supported' },
        aspect_ratios: { type: 'array', items: { type: 'string' } },
      },
      required: ['resolutions', 'aspect_ratios'],
      description: 'The accepted values',
    }),
  }),
);
