import { getExampleRequest } from '../../../shared/lib/catalog/exampleRequests.ts';
import { pageResponse } from '../pagination.ts';
import { examplePage } from '../openapi/examples.ts';
import { type FeatureDescription, PAGE_PARAMETER } from '../openapi/feature.ts';
import { presentModel } from './presenter.ts';
import { getModelResponse } from './schemas.ts';

export const describeModels = (): FeatureDescription => ({
  tag: { name: 'Models', description: 'The available models and their status.' },
  schemas: { Model: getModelResponse() },
  operations: {
    'GET /api/models/': {
      id: 'listModels',
      summary: 'List models',
      parameters: [PAGE_PARAMETER],
      response: {
        status: 200,
        description: 'The models with their accepted values.',
        schema: pageResponse(getModelResponse()),
        example: examplePage(presentModel({ ...getExampleRequest().model, provider: 'fal', status: 'online' })),
      },
    },
  },
});
