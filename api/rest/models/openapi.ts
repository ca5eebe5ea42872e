import { pageResponse } from '../pagination.ts';
import { examplePage } from '../openapi/examples.ts';
import { type FeatureDescription, PAGE_PARAMETER } from '../openapi/feature.ts';
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
        example: examplePage({
          uuid: 'c25e8a13-77d0-4f3b-8e94-5d1a9b0c6f42',
          slug: 'imgmodel-2',
          name: 'Image model',
          provider: 'fal',
          kind: 'image',
          description: 'Images from a text prompt, up to 4K.',
          credits_base: 8,
          status: 'online',
          sort_order: 2,
          params_schema: { resolutions: ['1K', '2K', '4K'], aspect_ratios: ['16:9', '1:1', '9:16'] },
        }),
      },
    },
  },
});
