import { listLedgerEntries } from '../../../shared/domain/credits/ledger.ts';
import { getUsageSummary } from '../../../shared/domain/usage/usageSummary.ts';
import { listKeyUsage } from '../../../shared/domain/usage/usageByKey.ts';
import { requireCaller, type Context } from '../../context.ts';
import { buildLedgerQuery, parseLedgerFilter } from '../../pipeline/listFilters.ts';
import { parsePage } from '../../pipeline/requestParameters.ts';
import { presentPage } from '../pagination.ts';
import { sendLedgerCsv } from './ledgerCsv.ts';
import { presentKeyUsage, presentUsage } from './presenter.ts';
import { presentLedgerEntry } from '../../../shared/presenters/ledgerEntry.ts';

export async function summary(ctx: Context): Promise<void> {
  ctx.body = presentUsage(await getUsageSummary(requireCaller(ctx).accountId));
}

export async function keys(ctx: Context): Promise<void> {
  const page = await listKeyUsage(requireCaller(ctx).accountId, parsePage(ctx));
  ctx.body = presentPage(page, '/api/usage/keys/', presentKeyUsage);
}

/** Returns true only for a client that names CSV: one that accepts anything gets JSON. */
function wantsCsv(ctx: Context): boolean {
  return (
    /(^|,)\s*text\/csv\s*(;|,|$)/i.test(ctx.get('accept')) && ctx.accepts('application/json', 'text/csv') === 'text/csv'
  );
}

/** Sends one page as JSON, or all matching entries as CSV to a client that prefers it. */
export async function ledger(ctx: Context): Promise<void> {
  const filter = parseLedgerFilter(ctx.query);
  const number = parsePage(ctx);
  if (wantsCsv(ctx)) return sendLedgerCsv(ctx, filter);
  const page = await listLedgerEntries(requireCaller(ctx).accountId, number, filter);
  ctx.body = presentPage(page, '/api/ledger/', presentLedgerEntry, buildLedgerQuery(ctx.query));
}
