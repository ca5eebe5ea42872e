import { alignColumns } from '../local/stack/startupSummary.ts';
import type { DemoClient } from './client.ts';

interface LedgerRow {
  entry_type: string;
  amount: number;
  balance_after: number;
  description: string;
}

interface LedgerResponse {
  pagination: { total_pages: number };
  data: LedgerRow[];
}

/** Reads the whole ledger, oldest entry first. */
export async function readWholeLedger(client: DemoClient): Promise<LedgerRow[]> {
  const entries: LedgerRow[] = [];
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    const response = await client.get<LedgerResponse>(`/api/ledger/?page=${page}`);
    pages = response.pagination.total_pages;
    entries.push(...response.data);
  }
  return entries.toReversed();
}

/** The ledger as a table. */
export function formatLedgerTable(entries: LedgerRow[]): string {
  const head = ['entry', 'amount', 'balance', 'description'];
  const rows = entries.map((entry) => [
    entry.entry_type,
    `${entry.amount > 0 ? '+' : ''}${entry.amount}`.padStart(6),
    String(entry.balance_after).padStart(7),
    entry.description,
  ]);
  return alignColumns([head, ...rows]);
}

/**
 * Adds the ledger up.
 * @returns the sum in words.
 * @throws Error when an entry's balance, or the account's, is not the sum of the amounts.
 */
export function verifyLedgerSum(entries: LedgerRow[], balance: number): string {
  let sum = 0;
  for (const { amount, balance_after: after, description } of entries) {
    sum += amount;
    if (sum !== after) throw new Error(`The ledger is inconsistent at "${description}": ${sum} is not ${after}.`);
  }
  if (sum !== balance) throw new Error(`The sum of the ledger is ${sum}, but the balance is ${balance}.`);
  const terms = entries.map(({ amount }, index) =>
    index === 0 ? String(amount) : `${amount < 0 ? '-' : '+'} ${Math.abs(amount)}`,
  );
  return `${terms.join(' ')} = ${sum}, which is the balance.`;
}
