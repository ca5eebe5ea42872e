import { type Answer, ask } from '../ask.ts';
import { noteShown } from '../generations.ts';
import type { Json } from '../send.ts';
import type { Shape } from '../shapes.ts';
import { accuseOf, type Turn } from '../world.ts';

interface LedgerShown {
  uuid: string;
  amount: number;
  balance_after: number;
}

/** Looks at one of the lists, or at how things stand. */
export async function look(turn: Turn): Promise<void> {
  const page = turn.random.between(1, 3);
  const looks = [
    () => listGenerations(turn, page),
    () => readLedger(turn, page),
    () => readUsage(turn),
    () => get(turn, 'list keys', `/api/keys/?page=${page}`, 'apiKeys'),
    () => get(turn, 'billing status', '/api/billing/status/', 'billingStatus'),
    () => get(turn, 'top-up settings', '/api/billing/topup/settings/', 'topupSettings'),
    () => get(turn, 'list models', '/api/models/', 'models'),
  ];
  await turn.random.pick([...looks, ...looks.slice(0, 3)])();
  if (turn.customer.code !== null) await get(turn, 'affiliate status', '/api/affiliate/status/', 'affiliateStatus');
}

async function listGenerations(turn: Turn, page: number): Promise<void> {
  const answer = await get(turn, 'list', `/api/generations/?page=${page}`, 'generations');
  if (!answer.isGood) return;
  for (const shown of answer.body.data) noteShown(turn, shown, answer.beganAt);
}

/** @returns the balance after the newest entry of the page, 0 where there is none; undefined where it was not told. */
export async function readLedger(turn: Turn, page = 1): Promise<number | undefined> {
  const answer = await get(turn, 'ledger', `/api/ledger/?page=${page}`, 'ledger');
  if (!answer.isGood) return undefined;
  const entries = answer.body.data as LedgerShown[];
  for (const [index, { uuid, amount, balance_after: balance }] of entries.entries()) {
    if (balance < 0) accuseOf(turn, 'balance-is-never-negative', uuid, `${balance} in the ledger`);
    const before = entries[index + 1]?.balance_after;
    if (before === undefined || before + amount === balance) continue;
    accuseOf(turn, 'ledger-page-is-a-chain', uuid, `${before} and ${amount} make ${balance}`);
  }
  return entries[0]?.balance_after ?? 0;
}

/** @returns the balance; undefined where it was not told. */
export async function readUsage(turn: Turn): Promise<number | undefined> {
  const answer = await get(turn, 'usage', '/api/usage/summary/', 'usage');
  return answer.isGood ? noteUsage(turn, answer.body) : undefined;
}

export function noteUsage(turn: Turn, { credits, jobs }: Json): number {
  const { balance } = credits as { balance: number };
  if (balance < 0 || jobs.in_flight < 0) {
    accuseOf(
      turn,
      'balance-is-never-negative',
      `customer ${turn.customer.index}`,
      `${balance}, ${jobs.in_flight} in flight`,
    );
  }
  return balance;
}

export function get(turn: Turn, kind: string, path: string, shape: Shape): Promise<Answer> {
  return ask(turn, { kind, method: 'GET', path, status: 200, shape });
}
