import { ImageParams, VideoParams } from '../../../shared/spec/catalog.ts';
import { WAIT_MAX_SECONDS } from '../../../shared/spec/limits.ts';
import { pageResponse } from '../pagination.ts';
import { CreateGenerationRequest, GenerationResponse } from './schemas.ts';
import { EXAMPLE_TIMESTAMP, EXAMPLE_UUID, examplePage } from '../openapi/examples.ts';
import { type FeatureDescription, PAGE_PARAMETER } from '../openapi/feature.ts';

/** The order as the models take it: what `params` may be is the catalog's affair. */
const CreateGenerationBody = {
  ...CreateGenerationRequest,
  properties: {
    ...CreateGenerationRequest.properties,
    params: { anyOf: [VideoParams, ImageParams], description: 'Of the model: see `GET /api/models/`' },
  },
} as unknown as typeof CreateGenerationRequest;

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

export const GENERATIONS_DESCRIPTION: FeatureDescription = {
  tag: { name: 'Generations', description: 'Videos and images: create one, wait for it, list them.' },
  schemas: { Generation: GenerationResponse, VideoParams, ImageParams },
  operations: {
    'POST /api/generations/create/': {
      id: 'createGeneration',
      summary: 'Create a generation',
      description:
        'Charges its credits and queues it: 8 for an image, 35 for a video of 5 seconds, 70 for one of 10. Poll it, or wait for it. Checks go in this order: 401, 429, 400, 402 `subscription_required`, 503, 409, 402 `insufficient_credits`. A 4xx charges nothing. While the outcome of an automatic top-up is unknown, the answer is a 503 `internal_error`; the same `Idempotency-Key` gives the outcome.',
      body: {
        schema: CreateGenerationBody,
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
        description: 'It is charged and `queued`.',
        schema: GenerationResponse,
        example: QUEUED_GENERATION,
      },
      errorCodes: ['insufficient_credits', 'subscription_required', 'parallel_limit_reached', 'model_unavailable'],
      acceptsIdempotencyKey: true,
    },
    'GET /api/generations/': {
      id: 'listGenerations',
      summary: 'List generations, newest first',
      parameters: [PAGE_PARAMETER],
      response: {
        status: 200,
        description: 'One page.',
        schema: pageResponse(GenerationResponse),
        example: examplePage(SUCCEEDED_GENERATION),
      },
    },
    'GET /api/generations/:uuid/': {
      id: 'getGeneration',
      summary: 'Read a generation',
      description:
        'The address to poll, every 2 seconds or more seldom, until `status` is `succeeded` or `failed`; or let it wait with `wait`.',
      parameters: [
        {
          name: 'wait',
          in: 'query',
          description: 'Answer as soon as it has ended, or after so many seconds.',
          schema: { type: 'integer', minimum: 0, maximum: WAIT_MAX_SECONDS, default: 0 },
        },
      ],
      response: {
        status: 200,
        description: 'The generation.',
        schema: GenerationResponse,
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
};
