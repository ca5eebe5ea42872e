import { getModelsWithStatus } from '../../../shared/domain/generations/execution/modelHealth.ts';
import { getExampleRequest } from '../../../shared/lib/catalog/exampleRequests.ts';
import { paginate } from '../../../shared/lib/pagination.ts';
import { examplePage } from '../../openapi/examples.ts';
import type { Feature } from '../../openapi/feature.ts';
import { defineEndpoint } from '../../pipeline/endpoint.ts';
import { ListQuery, pageResponse, presentPage } from '../../pipeline/lists.ts';
import { presentModel } from './presenter.ts';
import { getModelResponse } from './schemas.ts';

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
      response: () => ({
        description: 'The models with their accepted values.',
        schema: pageResponse(getModelResponse()),
        example: examplePage(presentModel({ ...getExampleRequest().model, provider: 'fal', status: 'online' })),
      }),
      run: async ({ query }) =>
        presentPage(paginate(await getModelsWithStatus(), query.page), '/api/models/', presentModel),
    }),
  ],
};
