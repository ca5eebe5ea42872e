import { type RestResponse, sendWithKey } from '../restRequests.ts';
import { recordShownGeneration } from '../observedGenerations.ts';
import type { Json } from '../httpClient.ts';
import type { ResponseShape } from '../responseShapes.ts';
import { reportViolation, type Step } from '../clientState.ts';

interface ShownLedgerEntry {
  uuid: string;
  amount: number;
  balance_after: number;
}

/** Reads one of the lists, or a summary. */
export async function readLists(step: Step): Promise<void> {
  const page = step.random.nextBetween(1, 3);
  const reads = [
    () => listGenerations(step, page),
    () => readLedgerPage(step, page),
    () => readUsageSummary(step),
    () => getJson(step, 'list keys', `/api/keys/?page=${page}`, 'apiKeys'),
    () => getJson(step, 'billing status', '/api/billing/status/', 'billingStatus'),
    () => getJson(step, 'top-up settings', '/api/billing/topup/settings/', 'topupSettings'),
    () => getJson(step, 'list models', '/api/models/', 'models', true),
  ];
  await step.random.pick([...reads, ...reads.slice(0, 3)])();
  if (step.customer.code !== null) await getJson(step, 'affiliate status', '/api/affiliate/status/', 'affiliateStatus');
}

async function listGenerations(step: Step, page: number): Promise<void> {
  const response = await getJson(step, 'list', `/api/generations/?page=${page}`, 'generations');
  if (!response.isGood) return;
  for (const shown of response.body.data) recordShownGeneration(step, shown, response.beganAt);
}

/** @returns the balance after the newest entry of the page, 0 if there is none; undefined without a response. */
export async function readLedgerPage(step: Step, page = 1): Promise<number | undefined> {
  const response = await getJson(step, 'ledger', `/api/ledger/?page=${page}`, 'ledger');
  if (!response.isGood) return undefined;
  const entries = response.body.data as ShownLedgerEntry[];
  for (const [index, { uuid, amount, balance_after: balance }] of entries.entries()) {
    if (balance < 0) reportViolation(step, 'balance-is-never-negative', uuid, `${balance} in the ledger`);
    const before = entries[index + 1]?.balance_after;
    if (before === undefined || before + amount === balance) continue;
    reportViolation(step, 'ledger-page-is-a-chain', uuid, `${before} plus ${amount} gives ${balance}`);
  }
  return entries[0]?.balance_after ?? 0;
}

/** @returns the balance; undefined without a response. */
export async function readUsageSummary(step: Step): Promise<number | undefined> {
  const response = await getJson(step, 'usage', '/api/usage/summary/', 'usage');
  return response.isGood ? recordUsage(step, response.body) : undefined;
}

export function recordUsage(step: Step, { credits, jobs }: Json): number {
  const { balance } = credits as { balance: number };
  if (balance < 0 || jobs.in_flight < 0) {
    reportViolation(
      step,
      'balance-is-never-negative',
      `customer ${step.customer.index}`,
      `${balance}, ${jobs.in_flight} in flight`,
    );
  }
  return balance;
}

export function getJson(
  step: Step,
  kind: string,
  path: string,
  shape: ResponseShape,
  isPublic = false,
): Promise<RestResponse> {
  return sendWithKey(step, { kind, method: 'GET', path, status: 200, shape, isPublic });
}
