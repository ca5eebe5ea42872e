import { processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { Topup } from '../../tables/Topup.ts';
import { charge, chargeEffect } from './autoTopups.ts';
import { attempt, type Effect, takeTicket } from './effects.ts';
import { failedEffect, PAGE_MS, paymentEffect } from './topups.ts';

const AT_ONCE = 200;
/** How long until a pending one is looked at again: the older, the less often. */
const AGAIN_MS = { least: 60_000, most: 3_600_000 };

/** Asks what became of top-ups that nobody has heard of: a charge whose end is unknown, a page that nobody paid on. */
export async function settlePendingTopups(): Promise<void> {
  // Apart: pages that nobody pays on are many, and must not keep charges from being settled.
  for (const topup of [...(await pending('automatic')), ...(await pending('manual'))]) {
    await attempt(() => pendingEffect(topup));
    const ageMs = now().getTime() - topup.created_at.getTime();
    const waitMs = Math.min(AGAIN_MS.most, Math.max(AGAIN_MS.least, ageMs / 4));
    await Topup.query()
      .findById(topup.uuid)
      .where({ status: 'pending' })
      .patch({ due_at: addMilliseconds(now(), waitMs) });
  }
}

function pending(kind: Topup['kind']): Promise<Topup[]> {
  return Topup.query()
    .where({ status: 'pending', kind })
    .where('due_at', '<=', now())
    .orderBy('due_at')
    .limit(AT_ONCE)
    .execute();
}

function pendingEffect(topup: Topup): Promise<Effect | null> {
  // A payment that is simulated always succeeds, however late, and there is no page that it could wait for.
  if (processor.isSimulated) return chargeEffect(topup);
  return topup.kind === 'automatic' ? chargedEffect(topup) : pageEffect(topup);
}

async function chargedEffect(topup: Topup): Promise<Effect | null> {
  await charge(topup);
  return null;
}

async function pageEffect(topup: Topup): Promise<Effect | null> {
  const ticket = await takeTicket();
  const { stripe_session_id: sessionId } = topup;
  if (sessionId === null) return isOlder(topup, PAGE_MS) ? failedEffect(topup, 'canceled', ticket) : null;
  const session = await processor.readSession(sessionId);
  const intentId = session?.intentId ?? topup.stripe_payment_intent_id;
  const payment = intentId === null ? null : await processor.readPayment(intentId);
  if (payment !== null && payment.status !== 'failed') return paymentEffect(payment, ticket);
  // As long as the page is open another card may be tried.
  return session?.isOpen === true ? null : failedEffect(topup, 'canceled', ticket);
}

function isOlder({ created_at: createdAt }: Topup, ageMs: number): boolean {
  return createdAt <= addMilliseconds(now(), -ageMs);
}
