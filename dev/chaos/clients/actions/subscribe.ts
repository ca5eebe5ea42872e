import { PLAN_SLUGS, type PlanSlug } from '../../../../shared/spec/plans.ts';
import { type Answer, ask } from '../ask.ts';
import { untilKnown } from '../repeat.ts';
import { newId, sleep, type Turn } from '../world.ts';
import { get } from './lists.ts';
import { visit } from './topUp.ts';

/** What becomes of a subscription: another plan, an end of it at the renewal or at once, and back again. */
export async function changeSubscription(turn: Turn): Promise<void> {
  const { world, customer, random } = turn;
  const uuid = customer.uuid as string;
  if (customer.role.plan === null)
    return random.chance(0.4) ? openCheckout(turn, random.pick(PLAN_SLUGS), false) : payTooLate(turn);
  const status = await get(turn, 'billing status', '/api/billing/status/', 'billingStatus');
  if (!status.isGood) return;
  if (status.body.status !== 'active') return openCheckout(turn, random.pick(PLAN_SLUGS), true);
  const choice = random.next();
  if (choice < 0.5) return openCheckout(turn, random.pick(PLAN_SLUGS), random.chance(0.9));
  if (choice < 0.7) visit(() => world.stripe.cancelAtPeriodEnd(uuid, random.pick(['flag', 'date'] as const)));
  else if (choice < 0.9) visit(() => world.stripe.resume(uuid));
  // Those that everybody uses are kept, for there to be something to do.
  else if (choice < 0.95 && !customer.role.isHot) visit(() => world.stripe.cancelNow(uuid));
  else await openPortal(turn);
}

/** Opens the page where a plan is paid or a switch is confirmed, and does that there. */
export async function openCheckout(turn: Turn, plan: PlanSlug, isToPay: boolean): Promise<void> {
  const { world, customer } = turn;
  const key = newId(turn);
  const answer = await untilKnown(turn, () => checkout(turn, plan, key));
  const url = answer.isGood ? (answer.body.checkout_url as string | null) : null;
  if (url === null || !isToPay) return;
  if (!url.includes('cs_test_')) {
    visit(() => world.stripe.confirmPlanSwitch(url));
    return;
  }
  const session = visit(() => world.stripe.completeCheckout(url));
  const subscriptionId = session?.subscription;
  if (typeof subscriptionId !== 'string') return;
  world.books.plans.push({ accountUuid: customer.uuid as string, plan, subscriptionId, at: Date.now() });
}

/** Pays through a bank that takes its time, and cancels before the money has arrived: all of it is owed back. */
async function payTooLate(turn: Turn): Promise<void> {
  const { world, random } = turn;
  const key = newId(turn);
  const answer = await untilKnown(turn, () => checkout(turn, random.pick(PLAN_SLUGS), key));
  const url = answer.isGood ? (answer.body.checkout_url as string | null) : null;
  if (url === null || !url.includes('cs_test_')) return;
  const subscriptionId = visit(() => world.stripe.completeCheckout(url, { async: true }))?.subscription;
  if (typeof subscriptionId !== 'string') return;
  try {
    await sleep(world, random.between(100, 500));
  } finally {
    visit(() => world.stripe.cancelNow(subscriptionId));
    visit(() => world.stripe.settlePayment(url, 'succeeded'));
  }
}

function checkout(turn: Turn, plan: PlanSlug, key: string): Promise<Answer> {
  return ask(turn, {
    kind: 'checkout',
    method: 'POST',
    path: '/api/billing/checkout/',
    body: { plan },
    headers: { 'idempotency-key': key },
    // The plan that there is already, or an invoice that is open.
    mayBe: ['validation_error'],
    status: 200,
    shape: 'checkout',
  });
}

async function openPortal(turn: Turn): Promise<void> {
  await ask(turn, { kind: 'portal', method: 'POST', path: '/api/billing/portal/', status: 200, shape: 'portal' });
}
