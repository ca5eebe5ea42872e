import type { Order } from '../../shared/domain/generations/charge.ts';
import { createGeneration } from '../../shared/domain/generations/create.ts';
import { listGenerations } from '../../shared/domain/generations/list.ts';
import { readGeneration } from '../../shared/domain/generations/read.ts';
import { deleteGeneration } from '../../shared/domain/generations/remove.ts';
import { bodyParser, type Parse } from '../../shared/lib/validate.ts';
import { type GenerationParams, MODELS } from '../../shared/spec/catalog.ts';
import { callerOf, type Context } from '../context.ts';
import { bodyOf } from '../middleware/body.ts';
import { idempotencyKeyOf } from '../middleware/idempotencyKey.ts';
import { pageOf, uuidOf, waitOf } from '../middleware/query.ts';
import { presentGeneration, presentPage } from '../presenters.ts';
import { CreateGeneration } from '../schemas.ts';

const parseOrder = bodyParser(CreateGeneration);
const parseParams = Object.fromEntries(
  MODELS.map((model) => [model.slug, bodyParser(model.params, 'params.')]),
) as Record<string, Parse<GenerationParams>>;

export async function create(ctx: Context): Promise<void> {
  const { model, prompt, params } = parseOrder(bodyOf(ctx));
  const order: Order = { model, prompt, params: (parseParams[model] as Parse<GenerationParams>)(params) };
  const { requestId } = ctx.state;
  const { generation, isReplay } = await createGeneration(callerOf(ctx), order, idempotencyKeyOf(ctx), requestId);
  ctx.state.generationId = generation.uuid;
  if (isReplay) ctx.set('idempotent-replayed', 'true');
  ctx.status = 201;
  ctx.body = presentGeneration(generation);
}

export async function list(ctx: Context): Promise<void> {
  const page = await listGenerations(callerOf(ctx).accountId, pageOf(ctx));
  ctx.body = presentPage(page, '/api/generations/', presentGeneration);
}

export async function read(ctx: Context): Promise<void> {
  const wait = { seconds: waitOf(ctx), isPointless: () => ctx.res.destroyed };
  ctx.body = presentGeneration(await readGeneration(callerOf(ctx), uuidOf(ctx), wait));
}

export async function remove(ctx: Context): Promise<void> {
  await deleteGeneration(callerOf(ctx).accountId, uuidOf(ctx));
  ctx.status = 204;
}
