import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { type PaymentFailure, processor, type ProcessorPayment } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';
import { AUTO_TOPUP_DECLINES_MAX, OPEN_TOPUPS_MAX } from '../../spec/limits.ts';
import { topupCredits } from '../../spec/plans.ts';
import { Account } from '../../tables/Account.ts';
import { Topup } from '../../tables/Topup.ts';
import { lockAccount, moveCredits } from '../credits.ts';
import { activePlan } from '../subscriptions.ts';
import { type Checkout, returnUrls } from './checkout.ts';
import { asCustomer } from './customers.ts';
import { carryOut, type Effect, takeTicket } from './effects.ts';
import { orUnavailable } from './orUnavailable.ts';

/**
 * Opens a checkout of credits, at the rate of the account's plan now. Where the processor takes the payment without a
 * page, the credits are there at once.
 * @param uuid of the top-up: the same for a request that is repeated.
 * @throws ServiceError subscription_required
 * @throws ServiceError rate_limited while too many top-ups of the account wait to be paid.
 */
export async function topUp(accountId: number, amountCents: number, uuid: string = uuidv7()): Promise<Checkout> {
  const { account, topup } = await Account.transaction(async (transaction) => {
    // Locked, so that requests at the same time are counted one after the other.
    const locked = await lockAccount(transaction, accountId);
    const begun = await beginTopup(locked, 'manual', amountCents, uuid, { transaction });
    await requireFewOpen(transaction, begun);
    return { account: locked, topup: begun };
  });
  const { credits } = topup;
  const page = await asCustomer(account, (customerId) => {
    const order = { customerId, topupUuid: topup.uuid, amountCents, credits };
    return orUnavailable(processor.openTopupCheckout(order, returnUrls()));
  });
  if (page.url === null) {
    const effect = await paymentEffect(page.payment, await takeTicket());
    if (effect !== null) await carryOut(effect);
  } else {
    await Topup.query().findById(topup.uuid).patch({ stripe_session_id: page.sessionId });
  }
  return page.url;
}

/** How long a checkout page of the processor stays open. */
export const PAGE_MS = 86_400_000;
/** How long a top-up without a page counts as waiting: after that, opening the page has failed. */
const OPENING_MS = 60_000;

/**
 * Limits the top-ups of an account that wait to be paid, as each is synced until it is paid or its page has expired.
 * Those whose page could not be opened cannot be paid, and stop counting after a minute.
 */
async function requireFewOpen(transaction: Transaction, { uuid, account_id: accountId }: Topup): Promise<void> {
  const pending = await Topup.query(transaction)
    .where({ account_id: accountId, kind: 'manual', status: 'pending' })
    .whereNot({ uuid });
  const at = now().getTime();
  const freeAt = pending
    .map((open) => open.created_at.getTime() + (open.stripe_session_id === null ? OPENING_MS : PAGE_MS))
    .filter((freedAt) => freedAt > at)
    .sort((a, b) => a - b);
  const next = freeAt[freeAt.length - OPEN_TOPUPS_MAX];
  if (next === undefined) return;
  const seconds = Math.ceil((next - at) / 1_000);
  throw new ServiceError(
    'rate_limited',
    `${OPEN_TOPUPS_MAX} top-ups are waiting to be paid: pay one of them, or try again in ${seconds} s, when one has expired.`,
    { headers: { 'retry-after': String(seconds) } },
  );
}

/** A top-up is left to those who began it for so long. */
const GRACE_MS = 60_000;

/**
 * Writes down that a payment is begun, before anybody is asked to pay it.
 * @param within the transaction that it is a part of, and the time that all of that is said to happen at.
 * @throws ServiceError subscription_required
 */
export async function beginTopup(
  account: Account,
  kind: Topup['kind'],
  amountCents: number,
  uuid: string,
  within: { transaction?: Transaction; at?: Date } = {},
): Promise<Topup> {
  const { transaction, at: createdAt = now() } = within;
  const plan = activePlan(account, createdAt);
  if (plan === null) {
    throw new ServiceError('subscription_required', 'Credits are sold with a subscription: choose a plan first.');
  }
  await Topup.query(transaction)
    .insert({
      uuid,
      account_id: account.id,
      kind,
      status: 'pending',
      amount_cents: amountCents,
      credits: topupCredits(amountCents, plan),
      due_at: addMilliseconds(createdAt, GRACE_MS),
      created_at: createdAt,
    })
    .onConflict('uuid')
    .ignore();
  return Topup.query(transaction).findById(uuid).throwIfNotFound();
}

/** What a look at a payment means to the account whose top-up it pays; null where it is none of ours. */
export async function paymentEffect(payment: ProcessorPayment | null, ticket: number): Promise<Effect | null> {
  if (payment === null || payment.topupUuid === null) return null;
  const topup = await Topup.query().findById(payment.topupUuid);
  if (topup === undefined) return null;
  if (payment.status === 'succeeded' && payment.amountCents !== topup.amount_cents) {
    logger.error(
      {
        topup: topup.uuid,
        intent: payment.intentId,
        amountCents: payment.amountCents,
        orderedCents: topup.amount_cents,
      },
      'top-up paid with another amount than ordered; not credited: credit or refund it by hand',
    );
    return effectOn(topup, { ...payment, ticket, status: 'failed', reversedCents: 0, failure: 'amount_mismatch' });
  }
  return effectOn(topup, { ...payment, ticket });
}

/** One that will never be paid. */
export function failedEffect(topup: Topup, failure: PaymentFailure, ticket: number): Effect {
  return effectOn(topup, { intentId: null, status: 'failed', reversedCents: 0, isDisputed: false, failure, ticket });
}

type Look = Pick<ProcessorPayment, 'status' | 'reversedCents' | 'isDisputed' | 'failure'> & {
  intentId: string | null;
  ticket: number;
};

function effectOn(topup: Topup, look: Look): Effect {
  return {
    accountId: topup.account_id,
    apply: async (transaction, account) => {
      const current = await Topup.query(transaction).findById(topup.uuid).throwIfNotFound();
      if (current.sync_ticket >= look.ticket) return undefined;
      await takeOver(transaction, account, current, look);
      return undefined;
    },
  };
}

async function takeOver(transaction: Transaction, account: Account, topup: Topup, look: Look): Promise<void> {
  const status = statusAfter(topup, look);
  const isPaidNow = status === 'succeeded' && topup.status !== 'succeeded';
  const isDeclinedNow = status === 'failed' && topup.status !== 'failed' && !isFinal(look.failure);
  const customer = isPaidNow ? await credit(transaction, account, topup) : account;
  if (isDeclinedNow && topup.kind === 'automatic') await countDecline(transaction, customer, look);
  const isDisputedNow = look.isDisputed && !topup.is_disputed;
  if (isDisputedNow && topup.kind === 'automatic') await switchOff(transaction, customer, 'disputed');
  const adjusted = status === 'succeeded' ? await adjust(transaction, customer, topup, look.reversedCents) : {};
  await topup.$query(transaction).patch({
    ...adjusted,
    status,
    is_disputed: look.isDisputed,
    failure: status === 'failed' ? (look.failure ?? topup.failure) : null,
    stripe_payment_intent_id: topup.stripe_payment_intent_id ?? look.intentId,
    sync_ticket: look.ticket,
    completed_at: topup.completed_at ?? (status === 'pending' ? null : now()),
  });
}

function statusAfter(topup: Topup, { status, failure }: Look): Topup['status'] {
  // Paid is paid: what was refunded since is told by what was reversed.
  if (topup.status === 'succeeded') return 'succeeded';
  // A card that was declined on a page may be followed by another one, until the page expires.
  if (topup.kind === 'manual') return status === 'failed' && !isFinal(failure) ? 'pending' : status;
  // Another one may be in progress by now, and an account has one at a time. A late success is credited all the same.
  return topup.status === 'failed' && status === 'pending' ? 'failed' : status;
}

/** Whether a failure is no decline, which another card could mend. */
function isFinal(failure: PaymentFailure | null): boolean {
  return failure === 'canceled' || failure === 'amount_mismatch';
}

async function credit(transaction: Transaction, account: Account, topup: Topup): Promise<Account> {
  const entry = {
    entryType: 'topup' as const,
    amount: topup.credits,
    planAmount: 0,
    description: `Top-up: ${topup.credits} credits`,
    effectKey: `topup:${topup.uuid}`,
  };
  const recovered = topup.kind === 'automatic' ? { auto_topup_declines: 0, auto_topup_problem: null } : {};
  return moveCredits(transaction, account, [entry], recovered);
}

/** Three declines in a row, or a bank that wants to see the customer, switch automatic top-ups off: they never loop. */
async function countDecline(transaction: Transaction, account: Account, { failure }: Look): Promise<void> {
  const declines = account.auto_topup_declines + 1;
  const isOff = failure === 'authentication_required' || declines >= AUTO_TOPUP_DECLINES_MAX;
  if (isOff) await switchOff(transaction, account, failure ?? 'declined');
  else await account.$query(transaction).patch({ auto_topup_declines: declines });
}

async function switchOff(transaction: Transaction, account: Account, problem: string): Promise<void> {
  await account
    .$query(transaction)
    .patch({ auto_topup_enabled: false, auto_topup_problem: problem, auto_topup_declines: 0 });
}

/**
 * Takes back the credits of what was refunded or is disputed, as far as they are there, and gives back what was won.
 * Each change of what was reversed counts once: credits that are bought later are not taken for one of before.
 */
async function adjust(
  transaction: Transaction,
  account: Account,
  topup: Topup,
  reversedCents: number,
): Promise<Partial<Topup>> {
  const reversed = Math.min(topup.amount_cents, reversedCents);
  const wanted = creditsOf(topup, reversed);
  const change = wanted - creditsOf(topup, topup.reversed_cents);
  const amount = change > 0 ? -Math.min(change, account.topup_credits) : Math.max(0, topup.credits_taken_back - wanted);
  if (amount === 0) return { reversed_cents: reversed };
  const entry = {
    entryType: amount < 0 ? ('expiry' as const) : ('grant' as const),
    amount,
    planAmount: 0,
    description: amount < 0 ? 'Top-up refunded or disputed' : 'Top-up: dispute won',
    effectKey: `topup:${topup.uuid}:${topup.adjustments + 1}`,
  };
  await moveCredits(transaction, account, [entry]);
  return {
    reversed_cents: reversed,
    credits_taken_back: topup.credits_taken_back - amount,
    adjustments: topup.adjustments + 1,
  };
}

function creditsOf({ credits, amount_cents: amountCents }: Topup, cents: number): number {
  return Math.floor((credits * cents) / amountCents);
}
