import { type RestResponse, sendWithKey } from '../restRequests.ts';
import { retryUntilKnown } from '../retry.ts';
import { reportViolation, newStepId, sleepUnlessStopped, type Step } from '../clientState.ts';
import { createMany } from './create.ts';
import { readLists } from './lists.ts';

const DAY_MS = 20 * 3_600_000;
/** Bursts of creates while the event of a payment is late. */
const LATE_BURSTS = 8;
/** Checkout pages that are paid at the same moment. */
const PARALLEL_PAGES = 4;

/** Opens a top-up page, sometimes several times with one idempotency key, and usually pays there. */
export async function buyTopup(step: Step): Promise<void> {
  const { random, state } = step;
  const amountCents = 100 * random.nextBetween(50, 200);
  const key = newStepId(step);
  const startedAt = state.now();
  const times = random.chance(0.15) ? 4 : 1;
  const responses = await Promise.all(
    Array.from({ length: times }, () => retryUntilKnown(step, () => requestTopup(step, key, amountCents))),
  );
  const pages = responses.filter(({ isGood }) => isGood).map(({ body }) => body.checkout_url as string);
  const isSameDay = Math.abs(state.now().getTime() - startedAt.getTime()) < DAY_MS;
  if (new Set(pages).size > 1 && isSameDay)
    reportViolation(step, 'same-key-same-response', key, [...new Set(pages)].join(' and '));
  const [page] = pages;
  if (page !== undefined && random.chance(0.9)) await payTopup(step, page, amountCents);
}

/**
 * Opens several pages and pays all of them at the same moment, while the account creates as much as its limits allow.
 */
export async function topUpWhileCreating(step: Step): Promise<void> {
  const { random } = step;
  const amounts = Array.from({ length: PARALLEL_PAGES }, () => 100 * random.nextBetween(50, 60));
  const opened = await Promise.all(amounts.map((amountCents) => requestTopup(step, newStepId(step), amountCents)));
  const payments = opened.map(async ({ isGood, body }, index) => {
    if (isGood) await payTopup(step, body.checkout_url as string, amounts[index] as number);
  });
  await Promise.all([...payments, createMany(step)]);
}

/**
 * Pays a page whose event does not arrive, and then creates until the balance needs the credits of the page. Other clients
 * read meanwhile, so that no automatic top-up can have begun before.
 */
export async function payWithLateEvent(step: Step): Promise<void> {
  const { state, customer } = step;
  const { stripe } = state;
  const amountCents = 20_000;
  const customerId = tryAtProcessor(() => stripe.findCustomerId(customer.uuid as string));
  if (customerId === undefined || !stripe.delivery.hold(customerId)) return readLists(step);
  try {
    const { isGood, body } = await requestTopup(step, newStepId(step), amountCents);
    if (!isGood) return;
    const session = tryAtProcessor(() => stripe.completeCheckout(body.checkout_url as string));
    if (session === undefined) return;
    recordPayment(step, session.id, amountCents, true);
    for (let burst = 0; burst < LATE_BURSTS; burst += 1) {
      await createMany(step);
      await sleepUnlessStopped(state, 1_000);
    }
  } finally {
    stripe.delivery.release(customerId);
  }
}

/** Requests the page for a top-up. */
export function requestTopup(step: Step, key: string, amountCents: number): Promise<RestResponse> {
  return sendWithKey(step, {
    kind: 'top up',
    method: 'POST',
    path: '/api/billing/topup/',
    body: { amount_cents: amountCents },
    headers: { 'idempotency-key': key },
    expectedErrors: ['subscription_required', 'rate_limited'],
    status: 200,
    shape: 'checkout',
  });
}

/** Pays on a page: at once, after a declined card, or through a slow bank. */
async function payTopup(step: Step, page: string, amountCents: number): Promise<void> {
  const { state, random } = step;
  const { stripe } = state;
  const isSlow = random.chance(0.1);
  if (random.chance(0.1)) tryAtProcessor(() => stripe.completeCheckout(page, { declined: true }));
  const session = tryAtProcessor(() => stripe.completeCheckout(page, { async: isSlow }));
  // The page may have expired, since clocks are moved.
  if (session === undefined) return;
  if (isSlow) {
    try {
      await sleepUnlessStopped(state, random.nextBetween(200, 1_000));
    } finally {
      tryAtProcessor(() => stripe.settlePayment(page, 'succeeded'));
    }
  }
  recordPayment(step, session.id, amountCents, false);
}

function recordPayment({ state, customer }: Step, sessionId: string, amountCents: number, isAwaited: boolean): void {
  const accountUuid = customer.uuid as string;
  state.store.topups.push({ accountUuid, sessionId, amountCents, at: Date.now(), isAwaited });
}

/** Performs an action at the payment processor; undefined if it is no longer possible. */
export function tryAtProcessor<Found>(act: () => Found): Found | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
