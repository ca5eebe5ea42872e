import { type Answer, ask } from '../ask.ts';
import { untilKnown } from '../repeat.ts';
import { accuseOf, newId, sleep, type Turn } from '../world.ts';
import { createMany } from './create.ts';

const DAY_MS = 20 * 3_600_000;
/** Pages that are paid at the same moment. */
const PAGES = 4;

/** Opens a page to buy credits on, sometimes several times under one key, and mostly pays there. */
export async function topUp(turn: Turn): Promise<void> {
  const { random, world } = turn;
  const amountCents = 100 * random.between(50, 200);
  const key = newId(turn);
  const startedAt = world.now();
  const times = random.chance(0.15) ? 4 : 1;
  const answers = await Promise.all(
    Array.from({ length: times }, () => untilKnown(turn, () => open(turn, key, amountCents))),
  );
  const pages = answers.filter(({ isGood }) => isGood).map(({ body }) => body.checkout_url as string);
  const isSameDay = Math.abs(world.now().getTime() - startedAt.getTime()) < DAY_MS;
  if (new Set(pages).size > 1 && isSameDay)
    accuseOf(turn, 'same-key-same-answer', key, [...new Set(pages)].join(' and '));
  const [page] = pages;
  if (page !== undefined && random.chance(0.9)) await pay(turn, page, amountCents);
}

/** Opens several pages, and pays on all of them at the same moment, while the account orders as much as it may. */
export async function buyWhileOrdering(turn: Turn): Promise<void> {
  const { random } = turn;
  const amounts = Array.from({ length: PAGES }, () => 100 * random.between(50, 60));
  const opened = await Promise.all(amounts.map((amountCents) => open(turn, newId(turn), amountCents)));
  const payments = opened.map(async ({ isGood, body }, index) => {
    if (isGood) await pay(turn, body.checkout_url as string, amounts[index] as number);
  });
  await Promise.all([...payments, createMany(turn)]);
}

function open(turn: Turn, key: string, amountCents: number): Promise<Answer> {
  return ask(turn, {
    kind: 'top up',
    method: 'POST',
    path: '/api/billing/topup/',
    body: { amount_cents: amountCents },
    headers: { 'idempotency-key': key },
    mayBe: ['subscription_required', 'rate_limited'],
    status: 200,
    shape: 'checkout',
  });
}

/** Pays on a page: at once, after a card that is declined, or by a bank that takes its time. */
async function pay(turn: Turn, page: string, amountCents: number): Promise<void> {
  const { world, customer, random } = turn;
  const { stripe } = world;
  const isSlow = random.chance(0.1);
  if (random.chance(0.1)) visit(() => stripe.completeCheckout(page, { declined: true }));
  const session = visit(() => stripe.completeCheckout(page, { async: isSlow }));
  // The page may have expired, as time is moved.
  if (session === undefined) return;
  if (isSlow) {
    try {
      await sleep(world, random.between(200, 1_000));
    } finally {
      visit(() => stripe.settlePayment(page, 'succeeded'));
    }
  }
  world.books.topups.push({ accountUuid: customer.uuid as string, sessionId: session.id, amountCents, at: Date.now() });
}

/** Does something at the processor's; undefined where it cannot be done any more. */
export function visit<Found>(act: () => Found): Found | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
