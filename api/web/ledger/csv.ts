import { readLedgerInBatches } from '../../../shared/domain/credits/ledger.ts';
import type { LedgerEntry } from '../../../shared/tables/LedgerEntry.ts';

const COLUMNS = ['number', 'created_at', 'type', 'description', 'credits', 'balance_after', 'generation'];

/** Writes a ledger as CSV (RFC 4180), newest entry first. */
export async function* writeLedgerCsv(accountId: number): AsyncGenerator<string> {
  yield toLine(COLUMNS);
  for await (const entries of readLedgerInBatches(accountId)) yield entries.map(toCsvEntry).join('');
}

function toCsvEntry(entry: LedgerEntry): string {
  return toLine([
    String(entry.number),
    entry.created_at.toISOString(),
    entry.entry_type,
    entry.description,
    String(entry.amount),
    String(entry.balance_after),
    entry.generation_uuid ?? '',
  ]);
}

/** Writes a line. Texts are quoted where needed, and none is a formula, which a spreadsheet would run. */
export function toLine(cells: (string | number)[]): string {
  return `${cells.map(toCell).join(',')}\r\n`;
}

function toCell(text: string | number): string {
  if (typeof text === 'number') return String(text);
  const isFormula = /^[=+\-@\t\r]/.test(text) && !/^-?\d+$/.test(text);
  const safe = isFormula ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
