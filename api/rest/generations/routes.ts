import { loadReleasedModels } from '../../../shared/domain/catalog/knownModels.ts';
import { getCatalog } from '../../../shared/lib/catalog/catalog.ts';
import { cancelGeneration } from '../../../shared/domain/generations/cancel.ts';
import type { CreateInput } from '../../../shared/domain/generations/debit.ts';
import { createGeneration } from '../../../shared/domain/generations/create.ts';
import { estimateGeneration } from '../../../shared/domain/generations/estimate.ts';
import { listGenerations } from '../../../shared/domain/generations/list.ts';
import { parseMetadata } from '../../../shared/domain/generations/metadata.ts';
import { readGeneration } from '../../../shared/domain/generations/read.ts';
import { deleteGeneration } from '../../../shared/domain/generations/delete.ts';
import { parseWebhookUrl } from '../../../shared/domain/webhooks/webhookUrl.ts';
import { createBodyParser, type Parse } from '../../../shared/lib/validation/bodyParser.ts';
import { perService } from '../../../shared/lib/serviceScope.ts';
import type { GenerationParams } from '../../../shared/spec/catalog.ts';
import { requireCaller, type Context } from '../../context.ts';
import { getJsonBody } from '../../pipeline/body.ts';
import { readIdempotencyKey } from '../../pipeline/idempotency.ts';
import { buildGenerationQuery, parseGenerationFilter } from '../../pipeline/listFilters.ts';
import { parsePage, parseUuidParam, parseWaitSeconds } from '../../pipeline/requestParameters.ts';
import { presentGeneration } from '../../../shared/presenters/generation.ts';
import { presentPage } from '../pagination.ts';
import { getCreateGenerationRequest, getHiddenGenerationRequest } from './schemas.ts';

const getCreateParser = perService(() => createBodyParser(getCreateGenerationRequest()));
const getHiddenParser = perService(() => createBodyParser(getHiddenGenerationRequest()));
const getParamsParsers = perService(
  () =>
    new Map(
      getCatalog().models.map(({ slug, params }) => [
        slug,
        createBodyParser(params, 'params.') as unknown as Parse<GenerationParams>,
      ]),
    ),
);

/** Parses the body of a create or an estimate. @throws ServiceError validation_error */
function readCreateInput(ctx: Context): CreateInput {
  const json = getJsonBody(ctx);
  const body = (namesHiddenModel(json) ? getHiddenParser() : getCreateParser())(json);
  const { model, prompt, params, webhook_url: webhookUrl, max_credits: maxCredits } = body;
  const metadata = parseMetadata(body.metadata ?? {});
  return {
    model,
    prompt,
    params: (getParamsParsers().get(model) as Parse<GenerationParams>)(params),
    ...(webhookUrl === undefined ? {} : { webhook_url: parseWebhookUrl(webhookUrl, 'webhook_url') }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(maxCredits === undefined ? {} : { max_credits: maxCredits }),
  };
}

function namesHiddenModel(body: unknown): boolean {
  const { model } = (body ?? {}) as { model?: unknown };
  return getCatalog().modelsBySlug.get(model as string)?.hidden === true;
}

export async function create(ctx: Context): Promise<void> {
  const input = readCreateInput(ctx);
  const { requestId } = ctx.state;
  const { generation, isReplay } = await createGeneration(
    requireCaller(ctx),
    input,
    readIdempotencyKey(ctx),
    requestId,
  );
  ctx.state.generationId = generation.uuid;
  if (isReplay) ctx.set('idempotent-replayed', 'true');
  ctx.status = 201;
  ctx.body = presentGeneration(generation);
}

export async function estimate(ctx: Context): Promise<void> {
  ctx.body = await estimateGeneration(requireCaller(ctx), readCreateInput(ctx));
}

export async function list(ctx: Context): Promise<void> {
  await loadReleasedModels();
  const filter = parseGenerationFilter(ctx.query);
  const page = await listGenerations(requireCaller(ctx).accountId, parsePage(ctx), filter);
  ctx.body = presentPage(page, '/api/generations/', presentGeneration, buildGenerationQuery(ctx.query));
}

export async function read(ctx: Context): Promise<void> {
  const wait = { seconds: parseWaitSeconds(ctx), isAborted: () => ctx.res.destroyed };
  ctx.body = presentGeneration(
    await readGeneration(requireCaller(ctx), parseUuidParam(ctx), wait, ctx.state.generation),
  );
}

/** Responds with 200 once the generation has ended, and with 202 while its upstream has to confirm the cancellation. */
export async function cancel(ctx: Context): Promise<void> {
  const generation = await cancelGeneration(requireCaller(ctx), parseUuidParam(ctx));
  ctx.status = generation.status === 'queued' ? 202 : 200;
  ctx.body = presentGeneration(generation);
}

export async function remove(ctx: Context): Promise<void> {
  await deleteGeneration(requireCaller(ctx), parseUuidParam(ctx));
  ctx.status = 204;
}
