import { getModelsWithStatus } from '../../../shared/domain/generations/execution/modelHealth.ts';
import { paginate } from '../../../shared/lib/pagination.ts';
import type { Context } from '../../context.ts';
import { parsePage } from '../../pipeline/requestParameters.ts';
import { presentModel, presentPage } from '../presenters.ts';

export async function list(ctx: Context): Promise<void> {
  const page = parsePage(ctx);
  ctx.body = presentPage(paginate(await getModelsWithStatus(), page), '/api/models/', presentModel);
}
