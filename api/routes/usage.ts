import { listLedger, usageOf } from '../../shared/domain/usage.ts';
import { callerOf, type Context } from '../context.ts';
import { pageOf } from '../middleware/query.ts';
import { presentLedgerEntry, presentPage, presentUsage } from '../presenters.ts';

export async function summary(ctx: Context): Promise<void> {
  ctx.body = presentUsage(await usageOf(callerOf(ctx).accountId));
}

export async function ledger(ctx: Context): Promise<void> {
  const page = await listLedger(callerOf(ctx).accountId, pageOf(ctx));
  ctx.body = presentPage(page, '/api/ledger/', presentLedgerEntry);
}
