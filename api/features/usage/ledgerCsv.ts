import { Readable } from 'node:stream';
import { readLedgerInBatches } from '../../../shared/domain/credits/ledger.ts';
import type { LedgerFilter } from '../../../shared/domain/credits/listFilteredLedger.ts';
import { toCsvLine } from '../../../shared/lib/csv.ts';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import type { LedgerEntry } from '../../../shared/tables/LedgerEntry.ts';
import { requireCaller, type Context } from '../../context.ts';
import { getBrand } from '../../web/brand.ts';

const COLUMNS = ['number', 'created_at', 'type', 'description', 'credits', 'balance_after', 'generation'];

/** Accounts whose ledger is being downloaded. */
const downloads = perService(() => new Set<number>());

/**
 * Sends all matching entries of the ledger as a CSV file, in batches, so that its size does not matter. A process sends
 * one file of an account at a time: each reads the whole ledger.
 * @throws ServiceError rate_limited
 */
export function sendLedgerCsv(ctx: Context, filter: LedgerFilter): void {
  const { accountId } = requireCaller(ctx);
  const accounts = downloads();
  if (accounts.has(accountId))
    throw new ServiceError('rate_limited', 'The ledger is being downloaded already. Wait until this has ended.', {
      retryAfterSeconds: 1,
    });
  accounts.add(accountId);
  const file = Readable.from(writeLedgerCsv(ctx, accountId, filter));
  // After the end of the file or of the connection, once no batch is being read any more.
  file.once('close', () => accounts.delete(accountId));
  ctx.type = 'text/csv; charset=utf-8';
  ctx.set('content-disposition', `attachment; filename="${getBrand().slug}-ledger.csv"`);
  ctx.set('cache-control', 'no-store');
  ctx.body = file;
}

/** Writes the matching entries of a ledger as CSV, newest first, until the connection is closed. */
async function* writeLedgerCsv({ res }: Context, accountId: number, filter: LedgerFilter): AsyncGenerator<string> {
  yield toCsvLine(COLUMNS);
  for await (const entries of readLedgerInBatches(accountId, filter)) {
    if (res.destroyed) return;
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
