import { getCatalog } from '../../../shared/lib/catalog/catalog.ts';
import { toPublicSchema } from '../../../shared/lib/validation/publicSchema.ts';
import type { Static } from 'typebox';
import type { ModelWithStatus } from '../../../shared/domain/generations/execution/modelHealth.ts';
import type { getModelResponse } from './schemas.ts';

export function presentModel(model: ModelWithStatus): Static<ReturnType<typeof getModelResponse>> {
  return {
    uuid: model.uuid,
    slug: model.slug,
    name: model.name,
    provider: model.provider,
    kind: model.kind,
    description: model.description,
    credits_base: model.creditsBase,
    status: model.status,
    sort_order: model.sortOrder,
    params_schema: model.paramsSchema,
    ...(getCatalog().id === null ? {} : presentOffer(model)),
  };
}

/** Fields of models of a configured catalog. */
function presentOffer(model: ModelWithStatus) {
  const { definition, params, paramsSchema, inputs, creditsBase, creditsMax, deprecatedAt } = model;
  return {
    params_schema: { ...paramsSchema, ...(toPublicSchema(params) as Record<string, unknown>) },
    pricing: {
      min_credits: creditsBase,
      max_credits: creditsMax,
      formula: definition.credits,
      ...(definition.outputs === undefined ? {} : { outputs: definition.outputs }),
    },
    inputs,
    deprecated_at: deprecatedAt === null ? null : new Date(deprecatedAt),
  };
}
