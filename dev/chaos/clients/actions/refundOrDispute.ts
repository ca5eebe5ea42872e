import { createMany } from './create.ts';
import { sleepUnlessStopped, type Step } from '../clientState.ts';
import { tryAtProcessor } from './topups.ts';

/** Refunds part of a top-up, or disputes it at the bank, which decides some seconds later. */
export async function refundOrDispute(step: Step): Promise<void> {
  const { state, random } = step;
  const { stripe } = state;
  const paid = listPaidTopups(step);
  if (paid.length === 0) return;
  const { intent, amountCents } = random.pick(paid);
  if (random.chance(0.5)) {
    tryAtProcessor(() => stripe.refund(intent, random.chance(0.5) ? amountCents : random.nextBetween(1, amountCents)));
    return;
  }
  const dispute = tryAtProcessor(() => stripe.openDispute(intent));
  if (dispute === undefined) return;
  try {
    await sleepUnlessStopped(state, random.nextBetween(500, 3_000));
  } finally {
    tryAtProcessor(() => stripe.closeDispute(dispute.id, random.pick(['won', 'lost'] as const)));
  }
}

/**
 * Refunds the oldest top-up while generations are in progress. A part of it is spent, the newer ones must stay, and what
 * the generations give back is owed.
 */
export async function refundWhileCreating(step: Step): Promise<void> {
  const { state, random } = step;
  const { stripe } = state;
  const oldest = listPaidTopups(step).find(({ intent }) =>
    stripe.store
      .list('charge')
      .some((charge) => charge.payment_intent === intent && !charge.refunded && !charge.disputed),
  );
  if (oldest === undefined) return;
  const creating = createMany(step);
  try {
    await sleepUnlessStopped(state, random.nextBetween(0, 500));
  } finally {
    tryAtProcessor(() => stripe.refund(oldest.intent));
    await creating;
  }
}

/** Lists the top-ups that the customer has paid on a page, oldest first. */
function listPaidTopups({ state, customer }: Step): { intent: string; amountCents: number }[] {
  return state.store.topups
    .filter(({ accountUuid }) => accountUuid === customer.uuid)
    .flatMap(({ sessionId, amountCents }) => {
      const intent = state.stripe.store.find('checkout.session', sessionId)?.payment_intent;
      return typeof intent === 'string' ? [{ intent, amountCents }] : [];
    });
}
