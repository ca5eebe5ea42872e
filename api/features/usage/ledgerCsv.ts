import { Readable } from 'node:stream';
import { readLedgerInBatches } from '../../../shared/domain/credits/ledger.ts';
import type { LedgerFilter } from '../../../shared/domain/credits/listFilteredLedger.ts';
import { toCsvLine } from '../../../shared/lib/csv.ts';
import type { LedgerEntry } from '../../../shared/tables/LedgerEntry.ts';
import { requireCaller, type Context } from '../../context.ts';
import { getBrand } from '../../web/brand.ts';

const COLUMNS = ['number', 'created_at', 'type', 'description', 'credits', 'balance_after', 'generation'];

/** Sends all matching entries of the ledger as a CSV file, in batches, so that its size does not matter. */
export function sendLedgerCsv(ctx: Context, filter: LedgerFilter): void {
  ctx.type = 'text/csv; charset=utf-8';
  ctx.set('content-disposition', `attachment; filename="${getBrand().slug}-ledger.csv"`);
  ctx.set('cache-control', 'no-store');
  ctx.body = Readable.from(writeLedgerCsv(requireCaller(ctx).accountId, filter));
}

/** Writes the matching entries of a ledger as CSV, newest first. */
async function* writeLedgerCsv(accountId: number, filter: LedgerFilter): AsyncGenerator<string> {
  yield toCsvLine(COLUMNS);
  for await (const entries of readLedgerInBatches(accountId, filter)) {
    if (entries.length > 0) yield entries.map(toCsvEntry).join('');
  }
}

function toCsvEntry(entry: LedgerEntry): string {
  return toCsvLine([
    String(entry.number),
    entry.created_at.toISOString(),
    entry.entry_type,
    entry.description,
    String(entry.amount),
    String(entry.balance_after),
    entry.generation_uuid ?? '',
  ]);
}
