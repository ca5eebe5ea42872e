import { modelsWithStatus } from '../../shared/domain/modelHealth.ts';
import { paginate } from '../../shared/lib/pagination.ts';
import type { Context } from '../context.ts';
import { pageOf } from '../middleware/query.ts';
import { presentModel, presentPage } from '../presenters.ts';

export async function list(ctx: Context): Promise<void> {
  const page = pageOf(ctx);
  ctx.body = presentPage(paginate(await modelsWithStatus(), page), '/api/models/', presentModel);
}
