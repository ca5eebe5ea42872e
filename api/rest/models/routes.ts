import { getModelsWithStatus } from '../../../shared/domain/generations/execution/modelHealth.ts';
import { paginate } from '../../../shared/lib/pagination.ts';
import type { Context } from '../../context.ts';
import { parsePage } from '../../pipeline/requestParameters.ts';
import { presentModel } from './presenter.ts';
import { presentPage } from '../pagination.ts';

export async function list(ctx: Context): Promise<void> {
  const page = parsePage(ctx);
  ctx.body = presentPage(paginate(await getModelsWithStatus(), page), '/api/models/', presentModel);
}
