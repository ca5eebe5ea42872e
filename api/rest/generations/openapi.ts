import type { TSchema } from 'typebox';
import { getCatalog, getModelSlugs } from '../../../shared/lib/catalog/catalog.ts';
import {
  buildExampleRequest,
  type ExampleRequest,
  findExampleModel,
  getExampleRequest,
} from '../../../shared/lib/catalog/exampleRequests.ts';
import { MODEL_KINDS } from '../../../shared/spec/catalog.ts';
import {
  METADATA_FILTERS_MAX,
  METADATA_KEY_MAX_CHARACTERS,
  METADATA_PAIRS_MAX,
  METADATA_VALUE_MAX_CHARACTERS,
  WAIT_MAX_SECONDS,
} from '../../../shared/spec/limits.ts';
import { GENERATION_STATUSES } from '../../../shared/spec/states.ts';
import { pageResponse } from '../pagination.ts';
import { getCreateGenerationRequest } from './schemas.ts';
import { getEstimateResponse } from '../../../shared/presenters/estimate.ts';
import { getGenerationResponse } from '../../../shared/presenters/generation.ts';
import { EXAMPLE_TIMESTAMP, EXAMPLE_UUID, examplePage, getExampleCharge } from '../openapi/examples.ts';
import {
  CREATED_RANGE_PARAMETERS,
  type FeatureDescription,
  FILTERED_LIST_NOTE,
  PAGE_PARAMETER,
} from '../openapi/feature.ts';

const listOffered = () => getCatalog().models.filter(({ hidden }) => !hidden);

/** Builds a schema that accepts what any of these schemas accepts. */
const buildChoice = ([first, ...others]: TSchema[]): object =>
  others.length === 0 ? { ...first } : { anyOf: [first, ...others] };

/** Request body with the `params` of the models. The catalog validates them for the requested one. */
const buildCreateGenerationBody = () =>
  ({
    ...getCreateGenerationRequest(),
    properties: {
      ...getCreateGenerationRequest().properties,
      params: {
        ...buildChoice(listOffered().map((model) => model.params)),
        description: 'Options of the model: see `GET /api/models/`',
      },
      metadata: {
        type: 'object',
        maxProperties: METADATA_PAIRS_MAX,
        propertyNames: { minLength: 1, maxLength: METADATA_KEY_MAX_CHARACTERS },
        additionalProperties: { type: 'string', maxLength: METADATA_VALUE_MAX_CHARACTERS },
        description: 'Pairs of strings that are returned with the generation, and by which lists can be filtered',
      },
    },
  }) as unknown as ReturnType<typeof getCreateGenerationRequest>;

/** Names of the parameters of the default models in the document. */
const PARAMS_NAMES: Readonly<Record<string, string>> = { 'vidmodel-video': 'VideoParams', 'imgmodel-2': 'ImageParams' };

const nameParamsSchemas = () =>
  Object.fromEntries(listOffered().map(({ slug, params }) => [PARAMS_NAMES[slug] ?? `${slug}-params`, params]));

const describePrices = () =>
  getCatalog().id === null
    ? '8 credits for an image, 35 for a video of 5 seconds, 70 for one of 10 seconds'
    : 'see `pricing` of the model in `GET /api/models/`';

/** Builds the example request, and its generation as responses show it. */
function buildExamples() {
  const request = getExampleRequest();
  const { model, shownParams, credits } = request;
  const queued = {
    uuid: EXAMPLE_UUID,
    model: model.slug,
    model_name: model.name,
    kind: model.kind,
    prompt: EXAMPLE_PROMPT,
    params: shownParams,
    status: 'queued',
    output_url: null,
    thumbnail_url: null,
    credits_charged: credits,
    error_message: null,
    created_at: EXAMPLE_TIMESTAMP,
    completed_at: null,
    duration_ms: null,
    is_watermarked: false,
  };
  const succeeded = {
    ...queued,
    status: 'succeeded',
    output_url: `https://cdn.example.org/4f/8c1d/${model.kind === 'image' ? 'image.png' : 'video.mp4'}`,
    thumbnail_url: 'https://cdn.example.org/4f/8c1d/thumbnail.webp',
    completed_at: '2026-11-21T09:30:07.000Z',
    duration_ms: 7_000,
  };
  const canceled = {
    ...queued,
    status: 'failed',
    error_message: 'Canceled.',
    completed_at: '2026-11-21T09:30:02.000Z',
    duration_ms: 2_000,
  };
  return { request, charge: getExampleCharge(), queued, succeeded, canceled };
}

const EXAMPLE_PROMPT = 'A lighthouse at dusk';
const VIDEO_PROMPT = 'Waves against a lighthouse';

const buildCreateExample = ({ model, params }: ExampleRequest, prompt = EXAMPLE_PROMPT) => ({
  model: model.slug,
  prompt,
  params,
});

/** Builds a request for each kind of which a model is offered. */
const buildCreateExamples = () =>
  Object.fromEntries(
    (['image', 'video'] as const).flatMap((kind) => {
      const model = findExampleModel(kind);
      const prompt = kind === 'image' ? EXAMPLE_PROMPT : VIDEO_PROMPT;
      return model === undefined ? [] : [[kind, buildCreateExample(buildExampleRequest(model), prompt)]];
    }),
  );

export const describeGenerations = (examples = buildExamples()): FeatureDescription => ({
  tag: { name: 'Generations', description: 'Videos and images: create one, wait for it, list them.' },
  schemas: { Generation: getGenerationResponse(), Estimate: getEstimateResponse(), ...nameParamsSchemas() },
  operations: {
    'POST /api/generations/create/': {
      id: 'createGeneration',
      summary: 'Create a generation',
      description: `Charges the credits and queues the generation: ${describePrices()}. Errors take precedence in this order: 401, 429, 400, 402 \`subscription_required\`, 503, 409, 402 \`spending_limit_reached\`, 402 \`insufficient_credits\`. A 4xx charges nothing. With content moderation, a denied prompt is 400 \`content_rejected\`. While the outcome of an automatic top-up is unknown, the response is 503 \`internal_error\`; repeat the request with the same \`Idempotency-Key\` to get the outcome.`,
      body: {
        schema: buildCreateGenerationBody(),
        examples: buildCreateExamples(),
      },
      response: {
        status: 201,
        description: 'The generation is charged and `queued`.',
        schema: getGenerationResponse(),
        example: examples.queued,
      },
      errorCodes: [
        'content_rejected',
        'insufficient_credits',
        'subscription_required',
        'spending_limit_reached',
        'parallel_limit_reached',
        'model_unavailable',
      ],
      acceptsIdempotencyKey: true,
    },
    'POST /api/generations/estimate/': {
      id: 'estimateGeneration',
      summary: 'Estimate a generation',
      description:
        'Returns the price of a create with this body, and what the create would do now. Charges nothing, triggers no automatic top-up, and is not sent to content moderation. The price is exact; balance and `refusal` are those of the moment. Send `max_credits` with the create to be sure of the price.',
      body: {
        schema: buildCreateGenerationBody(),
        example: buildCreateExample(examples.request),
      },
      response: {
        status: 200,
        description: 'The estimate, also if a create would be rejected.',
        schema: getEstimateResponse(),
        example: {
          model: examples.request.model.slug,
          params: examples.request.shownParams,
          credits: examples.charge.credits,
          balance: examples.charge.granted,
          balance_after: examples.charge.balance,
          affordable: true,
          refusal: null,
        },
      },
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
        {
          name: 'metadata',
          in: 'query',
          style: 'deepObject',
          explode: true,
          description: `Only generations with these pairs of metadata, such as \`metadata[project]=lighthouse\`; up to ${METADATA_FILTERS_MAX}, which must all match.`,
          schema: { type: 'object', maxProperties: METADATA_FILTERS_MAX, additionalProperties: { type: 'string' } },
        },
        ...CREATED_RANGE_PARAMETERS,
      ],
      response: {
        status: 200,
        description: 'One page of the list.',
        schema: pageResponse(getGenerationResponse()),
        example: examplePage(examples.succeeded),
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
        example: examples.succeeded,
      },
    },
    'POST /api/generations/:uuid/cancel/': {
      id: 'cancelGeneration',
      summary: 'Cancel a generation',
      description:
        'Ends and refunds a queued generation that was not submitted to its model yet: 200 with `failed` and the `error_message` "Canceled.". For one that was submitted the response is 202: it is cancelled at the provider, and refunded if that confirms that it did not start; otherwise it continues. Safe to repeat: a generation that has ended is returned with 200, unchanged.',
      response: {
        status: 200,
        description: 'The generation has ended, now or before.',
        schema: getGenerationResponse(),
        example: examples.canceled,
      },
      pendingResponse: {
        status: 202,
        description: 'The cancellation was requested. Read the generation until it has ended.',
        schema: getGenerationResponse(),
        example: examples.queued,
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
