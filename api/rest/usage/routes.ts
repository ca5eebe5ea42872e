import { listLedgerEntries } from '../../../shared/domain/credits/ledger.ts';
import { getUsageSummary } from '../../../shared/domain/credits/usage.ts';
import { requireCaller, type Context } from '../../context.ts';
import { parsePage } from '../../pipeline/requestParameters.ts';
import { presentPage } from '../pagination.ts';
import { presentLedgerEntry, presentUsage } from './presenter.ts';

export async function summary(ctx: Context): Promise<void> {
  ctx.body = presentUsage(await getUsageSummary(requireCaller(ctx).accountId));
}

export async function ledger(ctx: Context): Promise<void> {
  const page = await listLedgerEntries(requireCaller(ctx).accountId, parsePage(ctx));
  ctx.body = presentPage(page, '/api/ledger/', presentLedgerEntry);
}
