import { getCatalog, getModelSlugs } from '../../../shared/lib/catalog/catalog.ts';
import { MODEL_KINDS } from '../../../shared/spec/catalog.ts';
import { WAIT_MAX_SECONDS } from '../../../shared/spec/limits.ts';
import { GENERATION_STATUSES } from '../../../shared/spec/states.ts';
import { pageResponse } from '../pagination.ts';
import { getCreateGenerationRequest } from './schemas.ts';
import { getGenerationResponse } from '../../../shared/presenters/generation.ts';
import { EXAMPLE_TIMESTAMP, EXAMPLE_UUID, examplePage } from '../openapi/examples.ts';
import {
  CREATED_RANGE_PARAMETERS,
  type FeatureDescription,
  FILTERED_LIST_NOTE,
  PAGE_PARAMETER,
} from '../openapi/feature.ts';

/** Request body with the `params` of both models. The catalog validates them for the requested one. */
const buildCreateGenerationBody = () =>
  ({
    ...getCreateGenerationRequest(),
    properties: {
      ...getCreateGenerationRequest().properties,
      params: {
        anyOf: getCatalog().models.map((model) => model.params),
        description: 'Options of the model: see `GET /api/models/`',
      },
    },
  }) as unknown as ReturnType<typeof getCreateGenerationRequest>;

/** Names of the parameters of the default models in the document. */
const PARAMS_NAMES: Readonly<Record<string, string>> = { 'vidmodel-video': 'VideoParams', 'imgmodel-2': 'ImageParams' };

const nameParamsSchemas = () =>
  Object.fromEntries(getCatalog().models.map(({ slug, params }) => [PARAMS_NAMES[slug] ?? `${slug}-params`, params]));

const describePrices = () =>
  getCatalog().id === null
    ? '8 credits for an image, 35 for a video of 5 seconds, 70 for one of 10 seconds'
    : 'see `pricing` of the model in `GET /api/models/`';

const QUEUED_GENERATION = {
  uuid: EXAMPLE_UUID,
  model: 'imgmodel-2',
  model_name: 'Image model',
  kind: 'image',
  prompt: 'A lighthouse at dusk',
  params: { resolution: '1K', aspect_ratio: '1:1' },
  status: 'queued',
  output_url: null,
  thumbnail_url: null,
  credits_charged: 8,
  error_message: null,
  created_at: EXAMPLE_TIMESTAMP,
  completed_at: null,
  duration_ms: null,
  is_watermarked: false,
};

const SUCCEEDED_GENERATION = {
  ...QUEUED_GENERATION,
  status: 'succeeded',
  output_url: 'https://cdn.example.org/4f/8c1d/image.png',
  thumbnail_url: 'https://cdn.example.org/4f/8c1d/thumbnail.webp',
  completed_at: '2026-11-21T09:30:07.000Z',
  duration_ms: 7_000,
};

export const describeGenerations = (): FeatureDescription => ({
  tag: { name: 'Generations', description: 'Videos and images: create one, wait for it, list them.' },
  schemas: { Generation: getGenerationResponse(), ...nameParamsSchemas() },
  operations: {
    'POST /api/generations/create/': {
      id: 'createGeneration',
      summary: 'Create a generation',
      description: `Charges the credits and queues the generation: ${describePrices()}. Errors take precedence in this order: 401, 429, 400, 402 \`subscription_required\`, 503, 409, 402 \`insufficient_credits\`. A 4xx charges nothing. While the outcome of an automatic top-up is unknown, the response is 503 \`internal_error\`; repeat the request with the same \`Idempotency-Key\` to get the outcome.`,
      body: {
        schema: buildCreateGenerationBody(),
        examples: {
          image: { model: 'imgmodel-2', prompt: 'A lighthouse at dusk', params: { resolution: '1K' } },
          video: {
            model: 'vidmodel-video',
            prompt: 'Waves against a lighthouse',
            params: { duration: 5, resolution: '720p', audio: true },
          },
        },
      },
      response: {
        status: 201,
        description: 'The generation is charged and `queued`.',
        schema: getGenerationResponse(),
        example: QUEUED_GENERATION,
      },
      errorCodes: ['insufficient_credits', 'subscription_required', 'parallel_limit_reached', 'model_unavailable'],
      acceptsIdempotencyKey: true,
    },
    'GET /api/generations/': {
      id: 'listGenerations',
      summary: 'List generations, newest first',
      description: FILTERED_LIST_NOTE,
      parameters: [
        PAGE_PARAMETER,
        {
          name: 'status',
          in: 'query',
          description: 'Only generations with this status.',
          schema: { type: 'string', enum: GENERATION_STATUSES },
        },
        {
          name: 'kind',
          in: 'query',
          description: 'Only videos, or only images.',
          schema: { type: 'string', enum: MODEL_KINDS },
        },
        {
          name: 'model',
          in: 'query',
          description: 'Only generations of this model, by its slug.',
          schema: getCatalog().id === null ? { type: 'string', enum: getModelSlugs() } : { type: 'string' },
        },
        ...CREATED_RANGE_PARAMETERS,
      ],
      response: {
        status: 200,
        description: 'One page of the list.',
        schema: pageResponse(getGenerationResponse()),
        example: examplePage(SUCCEEDED_GENERATION),
      },
    },
    'GET /api/generations/:uuid/': {
      id: 'getGeneration',
      summary: 'Get a generation',
      description:
        'Poll at most every 2 seconds until `status` is `succeeded` or `failed`, or use `wait` for long polling.',
      parameters: [
        {
          name: 'wait',
          in: 'query',
          description:
            'Maximum number of seconds to wait for the end of the generation. The response is sent as soon as it ends.',
          schema: { type: 'integer', minimum: 0, maximum: WAIT_MAX_SECONDS, default: 0 },
        },
      ],
      response: {
        status: 200,
        description: 'The generation.',
        schema: getGenerationResponse(),
        example: SUCCEEDED_GENERATION,
      },
    },
    'DELETE /api/generations/:uuid/': {
      id: 'deleteGeneration',
      summary: 'Delete a generation',
      description:
        'Removes it from lists and deletes its files. Credits are not refunded; a queued generation still runs to its end.',
      response: { status: 204, description: 'The generation was deleted.' },
    },
  },
});
