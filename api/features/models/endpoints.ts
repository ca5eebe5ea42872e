import { getModelsWithStatus, type ModelWithStatus } from '../../../shared/domain/generations/execution/modelHealth.ts';
import { getExampleRequest } from '../../../shared/lib/catalog/exampleRequests.ts';
import { paginate } from '../../../shared/lib/pagination.ts';
import type { Feature } from '../feature.ts';
import { defineEndpoint } from '../../pipeline/endpoint.ts';
import { ListQuery, pageResponse, presentPage } from '../../pipeline/lists.ts';
import { getModelResponse } from './schemas.ts';
import { getCatalog } from '../../../shared/lib/catalog/catalog.ts';
import { toPublicSchema } from '../../../shared/lib/validation/publicSchema.ts';
import type { Static } from 'typebox';

export const MODELS: Feature = {
  tag: { name: 'Models', description: 'The available models and their status.' },
  schemas: () => ({ Model: getModelResponse() }),
  endpoints: [
    defineEndpoint({
      id: 'listModels',
      route: 'GET /api/models/',
      policy: { credential: 'anyone', rateLimit: 'public' },
      summary: 'List models',
      query: ListQuery,
      response: () =>
        pageResponse(
          getModelResponse(),
          presentModel({ ...getExampleRequest().model, provider: 'fal', status: 'online' }),
          'The models with their accepted values.',
        ),
      run: async ({ query }) =>
        presentPage(paginate(await getModelsWithStatus(), query.page), '/api/models/', presentModel),
    }),
  ],
};

function presentModel(model: ModelWithStatus): Static<ReturnType<typeof getModelResponse>> {
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
