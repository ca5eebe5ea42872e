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
import { lockAccount, postEntries } from '../credits/ledger.ts';
import { getActivePlan } from './billingStatus.ts';
import { type CheckoutUrl, getCheckoutReturnUrls } from './checkout.ts';
import { withCustomer } from './customers.ts';
import { applyChange, type AccountChange, nextSyncVersion } from './accountChanges.ts';
import { mapProcessorErrors } from './processorErrors.ts';

/**
 * Opens a checkout of credits, at the rate of the account's plan now. Where the processor takes the payment without a
 * page, the credits are there at once.
 * @param uuid of the top-up: the same for a request that is repeated.
 * @throws ServiceError subscription_required
 * @throws ServiceError rate_limited while too many top-ups of the account wait to be paid.
 */
export async function startTopupCheckout(
  accountId: number,
  amountCents: number,
  uuid: string = uuidv7(),
): Promise<CheckoutUrl> {
  const { account, topup } = await Account.transaction(async (transaction) => {
    // Locked, so that requests at the same time are counted one after the other.
    const locked = await lockAccount(transaction, accountId);
    const created = await createTopup(locked, 'manual', amountCents, uuid, { transaction });
    await assertOpenTopupLimit(transaction, created);
    return { account: locked, topup: created };
  });
  const { credits } = topup;
  const checkout = await withCustomer(account, (customerId) => {
    const request = { customerId, topupUuid: topup.uuid, amountCents, credits };
    return mapProcessorErrors(processor.openTopupCheckout(request, getCheckoutReturnUrls()));
  });
  if (checkout.url === null) {
    const change = await buildPaymentChange(checkout.payment, await nextSyncVersion());
    if (change !== null) await applyChange(change);
  } else {
    await Topup.query().findById(topup.uuid).patch({ stripe_session_id: checkout.sessionId });
  }
  return checkout.url;
}

/** How long a checkout page of the processor stays open. */
export const CHECKOUT_SESSION_MS = 86_400_000;
/** How long a top-up without a page counts as waiting: after that, opening the page has failed. */
const CHECKOUT_OPENING_TIMEOUT_MS = 60_000;

/**
 * Limits the top-ups of an account that wait to be paid, as each is synced until it is paid or its page has expired.
 * Those whose page could not be opened cannot be paid, and stop counting after a minute.
 */
async function assertOpenTopupLimit(transaction: Transaction, { uuid, account_id: accountId }: Topup): Promise<void> {
  const pending = await Topup.query(transaction)
    .where({ account_id: accountId, kind: 'manual', status: 'pending' })
    .whereNot({ uuid });
  const at = now().getTime();
  const expiryTimes = pending
    .map(
      (open) =>
        open.created_at.getTime() +
        (open.stripe_session_id === null ? CHECKOUT_OPENING_TIMEOUT_MS : CHECKOUT_SESSION_MS),
    )
    .filter((freedAt) => freedAt > at)
    .sort((a, b) => a - b);
  const next = expiryTimes[expiryTimes.length - OPEN_TOPUPS_MAX];
  if (next === undefined) return;
  const seconds = Math.ceil((next - at) / 1_000);
  throw new ServiceError(
    'rate_limited',
    `${OPEN_TOPUPS_MAX} top-ups are waiting to be paid: pay one of them, or try again in ${seconds} s, when one has expired.`,
    { retryAfterSeconds: seconds },
  );
}

/** A top-up is left to those who began it for so long. */
const SYNC_GRACE_MS = 60_000;

/**
 * Writes down that a payment is begun, before anybody is asked to pay it.
 * @param options the transaction that it is a part of, and the time that all of that is said to happen at.
 * @throws ServiceError subscription_required
 */
export async function createTopup(
  account: Account,
  kind: Topup['kind'],
  amountCents: number,
  uuid: string,
  options: { transaction?: Transaction; at?: Date } = {},
): Promise<Topup> {
  const { transaction, at: createdAt = now() } = options;
  const plan = getActivePlan(account, createdAt);
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
      next_attempt_at: addMilliseconds(createdAt, SYNC_GRACE_MS),
      created_at: createdAt,
    })
    .onConflict('uuid')
    .ignore();
  return Topup.query(transaction).findById(uuid).throwIfNotFound();
}

/** What a look at a payment means to the account whose top-up it pays; null where it is none of ours. */
export async function buildPaymentChange(
  payment: ProcessorPayment | null,
  syncVersion: number,
): Promise<AccountChange | null> {
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
    return buildTopupChange(topup, {
      ...payment,
      syncVersion,
      status: 'failed',
      reversedCents: 0,
      failure: 'amount_mismatch',
    });
  }
  return buildTopupChange(topup, { ...payment, syncVersion });
}

/** One that will never be paid. */
export function buildFailedTopupChange(topup: Topup, failure: PaymentFailure, syncVersion: number): AccountChange {
  return buildTopupChange(topup, {
    intentId: null,
    status: 'failed',
    reversedCents: 0,
    isDisputed: false,
    failure,
    syncVersion,
  });
}

type PaymentSnapshot = Pick<ProcessorPayment, 'status' | 'reversedCents' | 'isDisputed' | 'failure'> & {
  intentId: string | null;
  syncVersion: number;
};

function buildTopupChange(topup: Topup, snapshot: PaymentSnapshot): AccountChange {
  return {
    accountId: topup.account_id,
    apply: async (transaction, account) => {
      const current = await Topup.query(transaction).findById(topup.uuid).throwIfNotFound();
      if (current.sync_version >= snapshot.syncVersion) return undefined;
      await applyPaymentSnapshot(transaction, account, current, snapshot);
      return undefined;
    },
  };
}

async function applyPaymentSnapshot(
  transaction: Transaction,
  account: Account,
  topup: Topup,
  snapshot: PaymentSnapshot,
): Promise<void> {
  const status = getNextTopupStatus(topup, snapshot);
  const isPaidNow = status === 'succeeded' && topup.status !== 'succeeded';
  const isDeclinedNow = status === 'failed' && topup.status !== 'failed' && !isFinalFailure(snapshot.failure);
  const customer = isPaidNow ? await creditTopup(transaction, account, topup) : account;
  if (isDeclinedNow && topup.kind === 'automatic') await recordDecline(transaction, customer, snapshot);
  const isDisputedNow = snapshot.isDisputed && !topup.is_disputed;
  if (isDisputedNow && topup.kind === 'automatic') await disableAutoTopups(transaction, customer, 'disputed');
  const reversal =
    status === 'succeeded' ? await applyReversal(transaction, customer, topup, snapshot.reversedCents) : {};
  await topup.$query(transaction).patch({
    ...reversal,
    status,
    is_disputed: snapshot.isDisputed,
    failure: status === 'failed' ? (snapshot.failure ?? topup.failure) : null,
    stripe_payment_intent_id: topup.stripe_payment_intent_id ?? snapshot.intentId,
    sync_version: snapshot.syncVersion,
    completed_at: topup.completed_at ?? (status === 'pending' ? null : now()),
  });
}

function getNextTopupStatus(topup: Topup, { status, failure }: PaymentSnapshot): Topup['status'] {
  // Paid is paid: what was refunded since is told by what was reversed.
  if (topup.status === 'succeeded') return 'succeeded';
  // A card that was declined on a page may be followed by another one, until the page expires.
  if (topup.kind === 'manual') return status === 'failed' && !isFinalFailure(failure) ? 'pending' : status;
  // Another one may be in progress by now, and an account has one at a time. A late success is credited all the same.
  return topup.status === 'failed' && status === 'pending' ? 'failed' : status;
}

/** Whether a failure is no decline, which another card could mend. */
function isFinalFailure(failure: PaymentFailure | null): boolean {
  return failure === 'canceled' || failure === 'amount_mismatch';
}

async function creditTopup(transaction: Transaction, account: Account, topup: Topup): Promise<Account> {
  const entry = {
    entryType: 'topup' as const,
    amount: topup.credits,
    planAmount: 0,
    description: `Top-up: ${topup.credits} credits`,
    effectKey: `topup:${topup.uuid}`,
  };
  const recovered = topup.kind === 'automatic' ? { auto_topup_declines: 0, auto_topup_problem: null } : {};
  return postEntries(transaction, account, [entry], recovered);
}

/** Three declines in a row, or a bank that wants to see the customer, switch automatic top-ups off: they never loop. */
async function recordDecline(transaction: Transaction, account: Account, { failure }: PaymentSnapshot): Promise<void> {
  const declines = account.auto_topup_declines + 1;
  const isDisabled = failure === 'authentication_required' || declines >= AUTO_TOPUP_DECLINES_MAX;
  if (isDisabled) await disableAutoTopups(transaction, account, failure ?? 'declined');
  else await account.$query(transaction).patch({ auto_topup_declines: declines });
}

async function disableAutoTopups(transaction: Transaction, account: Account, problem: string): Promise<void> {
  await account
    .$query(transaction)
    .patch({ auto_topup_enabled: false, auto_topup_problem: problem, auto_topup_declines: 0 });
}

/**
 * Takes back the credits of what was refunded or is disputed, as far as they are there, and gives back what was won.
 * Each change of what was reversed counts once: credits that are bought later are not taken for one of before.
 */
async function applyReversal(
  transaction: Transaction,
  account: Account,
  topup: Topup,
  reversedCents: number,
): Promise<Partial<Topup>> {
  const reversed = Math.min(topup.amount_cents, reversedCents);
  const reversedCredits = getProportionalCredits(topup, reversed);
  const change = reversedCredits - getProportionalCredits(topup, topup.reversed_cents);
  const amount =
    change > 0 ? -Math.min(change, account.topup_credits) : Math.max(0, topup.credits_reversed - reversedCredits);
  if (amount === 0) return { reversed_cents: reversed };
  const entry = {
    entryType: amount < 0 ? ('expiry' as const) : ('grant' as const),
    amount,
    planAmount: 0,
    description: amount < 0 ? 'Top-up refunded or disputed' : 'Top-up: dispute won',
    effectKey: `topup:${topup.uuid}:${topup.reversal_count + 1}`,
  };
  await postEntries(transaction, account, [entry]);
  return {
    reversed_cents: reversed,
    credits_reversed: topup.credits_reversed - amount,
    reversal_count: topup.reversal_count + 1,
  };
}

function getProportionalCredits({ credits, amount_cents: amountCents }: Topup, cents: number): number {
  return Math.floor((credits * cents) / amountCents);
}
