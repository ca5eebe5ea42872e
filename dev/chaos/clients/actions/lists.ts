import type { LedgerEntry } from '../../../../packages/client/src/index.ts';
import { call } from '../api.ts';
import { report, type Step } from '../clientState.ts';
import { recordShownGeneration } from '../observedGenerations.ts';

/** Reads one of the lists, or a summary. */
export async function readLists(step: Step): Promise<void> {
  const page = step.random.nextBetween(1, 3);
  const reads: (() => Promise<unknown>)[] = [
    () => listGenerations(step, page),
    () => readLedgerPage(step, page),
    () => readUsageSummary(step),
    () => call(step, 'list keys', (api) => api.keys.list().page(page)),
    () => call(step, 'billing status', (api) => api.send('GET /api/billing/status/')),
    () => call(step, 'top-up settings', (api) => api.send('GET /api/billing/topup/settings/')),
    () => call(step, 'list models', (api) => api.models.list().page(), { isPublic: true }),
  ];
  await step.random.pick([...reads, ...reads.slice(0, 3)])();
  if (step.customer.code !== null)
    await call(step, 'affiliate status', (api) => api.send('GET /api/affiliate/status/'));
}

async function listGenerations(step: Step, page: number): Promise<void> {
  const response = await call(step, 'list', (api) => api.generations.list().page(page));
  if (!response.isGood) return;
  for (const shown of response.body.data) recordShownGeneration(step, shown, response.beganAt);
}

/** @returns the balance after the newest entry of the page, 0 if there is none; undefined without a response. */
export async function readLedgerPage(step: Step, page = 1): Promise<number | undefined> {
  const response = await call(step, 'ledger', (api) => api.ledger.list().page(page));
  if (!response.isGood) return undefined;
  const entries: LedgerEntry[] = response.body.data;
  for (const [index, { uuid, amount, balance_after: balance }] of entries.entries()) {
    if (balance < 0) report(step, 'balance-is-never-negative', uuid, `${balance} in the ledger`);
    const before = entries[index + 1]?.balance_after;
    if (before === undefined || before + amount === balance) continue;
    report(step, 'ledger-page-is-a-chain', uuid, `${before} plus ${amount} gives ${balance}`);
  }
  return entries[0]?.balance_after ?? 0;
}

/** @returns the balance; undefined without a response. */
export async function readUsageSummary(step: Step): Promise<number | undefined> {
  const response = await call(step, 'usage', (api) => api.usage.summary());
  return response.isGood ? recordUsage(step, response.body) : undefined;
}

export function recordUsage(
  step: Step,
  { credits: { balance }, jobs }: { credits: { balance: number }; jobs: { in_flight: number } },
): number {
  if (balance < 0 || jobs.in_flight < 0) {
    const detail = `${balance}, ${jobs.in_flight} in flight`;
    report(step, 'balance-is-never-negative', `customer ${step.customer.index}`, detail);
  }
  return balance;
}
