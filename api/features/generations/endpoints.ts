import Type from 'typebox';
import { loadReleasedModels } from '../../../shared/domain/catalog/knownModels.ts';
import { cancelGeneration } from '../../../shared/domain/generations/cancel.ts';
import { createGeneration } from '../../../shared/domain/generations/create.ts';
import { deleteGeneration } from '../../../shared/domain/generations/delete.ts';
import { estimateGeneration } from '../../../shared/domain/generations/estimate.ts';
import { listGenerations } from '../../../shared/domain/generations/list.ts';
import { readGeneration } from '../../../shared/domain/generations/read.ts';
import { getCatalog } from '../../../shared/lib/catalog/catalog.ts';
import { getEstimateResponse } from '../../../shared/presenters/estimate.ts';
import { getGenerationResponse, presentGeneration } from '../../../shared/presenters/generation.ts';
import { WAIT_MAX_SECONDS } from '../../../shared/spec/limits.ts';
import type { Feature } from '../feature.ts';
import { receiveUpstreamCallback } from './upstreamCallback.ts';
import { defineEndpoint } from '../../pipeline/endpoint.ts';
import { readIdempotencyKey } from '../../pipeline/idempotency.ts';
import { FILTERED_LIST_NOTE, pageResponse, presentPage } from '../../pipeline/lists.ts';
import { parseCreateInput } from './createInput.ts';
import {
  buildCreateExamples,
  buildEstimateExample,
  buildExampleEstimate,
  buildExampleGenerations,
} from './examples.ts';
import { buildGenerationQuery, getGenerationQuery, toGenerationFilter } from './listFilters.ts';
import { getDocumentedGenerationRequest, nameParamsSchemas } from './schemas.ts';

const describePrices = () =>
  getCatalog().id === null
    ? '8 credits for an image, 35 for a video of 5 seconds, 70 for one of 10 seconds'
    : 'see `pricing` of the model in `GET /api/models/`';

const WaitQuery = Type.Object({
  wait: Type.Integer({
    minimum: 0,
    maximum: WAIT_MAX_SECONDS,
    default: 0,
    description:
      'Maximum number of seconds to wait for the end of the generation. The response is sent as soon as it ends.',
    expected: `a whole number of seconds, from 0 to ${WAIT_MAX_SECONDS}`,
  }),
});

export const GENERATIONS: Feature = {
  routes: [
    // An address with a token, which upstreams call once a run has ended.
    ['POST', '/upstream-events/:token', 'json', 'anyone', 'unlimited', 'raw', receiveUpstreamCallback],
  ],
  tag: { name: 'Generations', description: 'Videos and images: create one, wait for it, list them.' },
  schemas: () => ({ Generation: getGenerationResponse(), Estimate: getEstimateResponse(), ...nameParamsSchemas() }),
  endpoints: [
    defineEndpoint({
      id: 'createGeneration',
      route: 'POST /api/generations/create/',
      policy: {
        needs: 'createGenerations',
        access: 'svc:write',
        testKeysWrite: true,
        hasImages: true,
        rateLimit: 'create',
        verifiesKey: true,
      },
      summary: 'Create a generation',
      description: () =>
        `Charges the credits and queues the generation: ${describePrices()}. Errors take precedence in this order: 401, 429, 400, 402 \`subscription_required\`, 503, 409, 402 \`spending_limit_reached\`, 402 \`insufficient_credits\`. A 4xx charges nothing. With content moderation, a denied prompt is 400 \`content_rejected\`. While the outcome of an automatic top-up is unknown, the response is 503 \`internal_error\`; repeat the request with the same \`Idempotency-Key\` to get the outcome.`,
      request: getDocumentedGenerationRequest,
      parse: parseCreateInput,
      examples: buildCreateExamples,
      response: () => ({
        status: 201,
        description: 'The generation is charged and `queued`.',
        schema: getGenerationResponse(),
        example: buildExampleGenerations().queued,
      }),
      errors: [
        'content_rejected',
        'insufficient_credits',
        'subscription_required',
        'spending_limit_reached',
        'parallel_limit_reached',
        'model_unavailable',
      ],
      idempotent: 'own',
      run: async ({ ctx, caller, body }) => {
        const { requestId } = ctx.state;
        const { generation, isReplay } = await createGeneration(caller, body, readIdempotencyKey(ctx), requestId);
        ctx.state.generationId = generation.uuid;
        if (isReplay) ctx.set('idempotent-replayed', 'true');
        return presentGeneration(generation);
      },
    }),
    defineEndpoint({
      id: 'estimateGeneration',
      route: 'POST /api/generations/estimate/',
      policy: { needs: 'createGenerations', access: 'svc:write', testKeysWrite: true, hasImages: true },
      summary: 'Estimate a generation',
      description:
        'Returns the price of a create with this body, and what the create would do now. Charges nothing, triggers no automatic top-up, and is not sent to content moderation. The price is exact; balance and `refusal` are those of the moment. Everything that a create would reject for the account is a `refusal`; two statuses remain: 402 for a body above 64 KiB without a plan, and 503 for a test key while test mode is off. Send `max_credits` with the create to be sure of the price.',
      request: getDocumentedGenerationRequest,
      parse: parseCreateInput,
      example: buildEstimateExample,
      errors: ['subscription_required', 'model_unavailable'],
      response: () => ({
        description: 'The estimate, also if a create would be rejected.',
        schema: getEstimateResponse(),
        example: buildExampleEstimate(),
      }),
      run: ({ caller, body }) => estimateGeneration(caller, body),
    }),
    defineEndpoint({
      id: 'listGenerations',
      route: 'GET /api/generations/',
      policy: { needs: 'viewGenerations', access: 'svc:read' },
      summary: 'List generations, newest first',
      description: FILTERED_LIST_NOTE,
      query: getGenerationQuery,
      response: () => pageResponse(getGenerationResponse(), buildExampleGenerations().succeeded),
      run: async ({ ctx, accountId, query }) => {
        await loadReleasedModels();
        const page = await listGenerations(accountId, query.page, toGenerationFilter(query, ctx.query));
        return presentPage(page, '/api/generations/', presentGeneration, buildGenerationQuery(ctx.query));
      },
    }),
    defineEndpoint({
      id: 'getGeneration',
      route: 'GET /api/generations/:uuid/',
      policy: { needs: 'viewGenerations', access: 'svc:read', readsGeneration: true },
      summary: 'Get a generation',
      description:
        'Poll at most every 2 seconds until `status` is `succeeded` or `failed`, or use `wait` for long polling.',
      query: WaitQuery,
      response: () => ({
        description: 'The generation.',
        schema: getGenerationResponse(),
        example: buildExampleGenerations().succeeded,
      }),
      run: async ({ ctx, caller, uuid, query }) => {
        const wait = { seconds: query.wait, isAborted: () => ctx.res.destroyed };
        return presentGeneration(await readGeneration(caller, uuid, wait, ctx.state.generation));
      },
    }),
    defineEndpoint({
      id: 'deleteGeneration',
      route: 'DELETE /api/generations/:uuid/',
      policy: { needs: 'createGenerations', access: 'svc:write', testKeysWrite: true },
      summary: 'Delete a generation',
      description:
        'Removes it from lists and deletes its files. Credits are not refunded; a queued generation still runs to its end.',
      response: { status: 204, description: 'The generation was deleted.' },
      run: async ({ caller, uuid }) => {
        await deleteGeneration(caller, uuid);
      },
    }),
    defineEndpoint({
      id: 'cancelGeneration',
      route: 'POST /api/generations/:uuid/cancel/',
      policy: { needs: 'createGenerations', access: 'svc:write', testKeysWrite: true },
      summary: 'Cancel a generation',
      description:
        'Ends and refunds a queued generation that was not submitted to its model yet: 200 with `failed` and the `error_message` "Canceled.". For one that was submitted the response is 202: it is cancelled at the provider, and refunded if that confirms that it did not start; otherwise it continues. Safe to repeat: a generation that has ended is returned with 200, unchanged.',
      response: () => ({
        description: 'The generation has ended, now or before.',
        schema: getGenerationResponse(),
        example: buildExampleGenerations().canceled,
      }),
      pendingResponse: () => ({
        status: 202,
        description: 'The cancellation was requested. Read the generation until it has ended.',
        schema: getGenerationResponse(),
        example: buildExampleGenerations().queued,
      }),
      run: async ({ ctx, caller, uuid }) => {
        const generation = await cancelGeneration(caller, uuid);
        if (generation.status === 'queued') ctx.status = 202;
        return presentGeneration(generation);
      },
    }),
  ],
};
