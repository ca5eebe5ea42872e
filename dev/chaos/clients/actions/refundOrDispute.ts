import { sleepUnlessStopped, type Step } from '../clientState.ts';
import { tryAtProcessor } from './topups.ts';

/** Refunds part of a top-up, or disputes it at the bank, which decides some seconds later. */
export async function refundOrDispute(step: Step): Promise<void> {
  const { state, customer, random } = step;
  const { stripe } = state;
  const paid = state.store.topups.filter(({ accountUuid }) => accountUuid === customer.uuid);
  if (paid.length === 0) return;
  const { sessionId, amountCents } = random.pick(paid);
  const intent = stripe.store.find('checkout.session', sessionId)?.payment_intent;
  if (typeof intent !== 'string') return;
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
