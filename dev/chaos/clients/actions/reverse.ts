import { sleep, type Turn } from '../world.ts';
import { visit } from './topUp.ts';

/** Has some of a top-up given back, or disputes it at the bank, which decides some seconds later. */
export async function reverse(turn: Turn): Promise<void> {
  const { world, customer, random } = turn;
  const { stripe } = world;
  const paid = world.books.topups.filter(({ accountUuid }) => accountUuid === customer.uuid);
  if (paid.length === 0) return;
  const { sessionId, amountCents } = random.pick(paid);
  const intent = stripe.objects.find('checkout.session', sessionId)?.payment_intent;
  if (typeof intent !== 'string') return;
  if (random.chance(0.5)) {
    visit(() => stripe.refund(intent, random.chance(0.5) ? amountCents : random.between(1, amountCents)));
    return;
  }
  const dispute = visit(() => stripe.openDispute(intent));
  if (dispute === undefined) return;
  try {
    await sleep(world, random.between(500, 3_000));
  } finally {
    visit(() => stripe.closeDispute(dispute.id, random.pick(['won', 'lost'] as const)));
  }
}
