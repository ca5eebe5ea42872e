import { listLedgerEntries } from '../../../../../shared/domain/credits/ledger.ts';
import { requireCaller, type Context } from '../../../../context.ts';
import { parsePage, readPageFilters } from '../../../../pipeline/lists.ts';
import { parseLedgerFilter } from '../../endpoints.ts';
import { sendLedgerCsv } from '../../ledgerCsv.ts';
import { showErrorsOn } from '../../../../web/components/showErrorsOn.ts';
import { sendLedgerPage } from './view.tsx';

const withLedgerErrors = showErrorsOn(
  async (ctx, flash, status) =>
    await sendLedgerPage(
      ctx,
      { list: await listLedgerEntries(requireCaller(ctx).accountId, 1), query: '' },
      flash,
      status,
    ),
);

/** Shows one page of the credit ledger, filtered by the form above it. */
export const showLedgerPage = withLedgerErrors(async (ctx: Context) => {
  const { filter, query } = readLedgerFilters(ctx);
  const list = await listLedgerEntries(requireCaller(ctx).accountId, parsePage(ctx), filter);
  await sendLedgerPage(ctx, { list, query });
});

/** Sends the matching entries of the ledger as a CSV file. */
export function exportLedger(ctx: Context): void {
  sendLedgerCsv(ctx, readLedgerFilters(ctx).filter);
}

function readLedgerFilters(ctx: Context) {
  const { parameters, query } = readPageFilters(ctx, ['entry_type']);
  return { filter: parseLedgerFilter(parameters), query };
}
