import { setTimeout } from 'node:timers/promises';
import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { processor, ProcessorError } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { AUTO_TOPUP_INTERVAL_MS } from '../../spec/limits.ts';
import { Account } from '../../tables/Account.ts';
import { Topup } from '../../tables/Topup.ts';
import { lockAccount } from '../credits.ts';
import { activePlan } from '../subscriptions.ts';
import { knownCustomer } from './customers.ts';
import { carryOut, type Effect, takeTicket } from './effects.ts';
import { beginTopup, failedEffect, paymentEffect } from './topups.ts';

/** How long a create waits for an automatic top-up. */
const WAIT_MS = 12_000;
const LOOK_EVERY_MS = 250;

/**
 * Charges the automatic top-up that a burn has triggered. Does nothing without a recorded trigger, when the balance has
 * recovered, when automatic top-ups are off, or within an hour of the last one.
 */
export async function topUpIfLow(accountId: number): Promise<void> {
  const topup = await claim(
    accountId,
    ({ auto_topup_triggered_at: triggeredAt, balance, auto_topup_threshold_credits: threshold }) =>
      triggeredAt !== null && balance < threshold,
  );
  if (topup !== undefined) await settle(chargeEffect, topup);
}

/**
 * - `credited`: the balance covers the generation now, so that it can be charged.
 * - `none`: no top-up was charged, and none is in progress.
 * - `unknown`: a payment is in progress, or its outcome is not known yet. It may still be charged.
 */
export type AutoTopupOutcome = 'credited' | 'none' | 'unknown';

/**
 * Charges an automatic top-up for a generation that the balance does not cover, or waits for the one in progress.
 */
export async function topUpFor(accountId: number, credits: number): Promise<AutoTopupOutcome> {
  const { auto_topup_enabled: isEnabled } = await Account.query().findById(accountId).throwIfNotFound();
  if (!isEnabled) return 'none';
  const topup = await claim(accountId, (account) => account.balance < credits);
  if (topup !== undefined) return settleInTime(topup);
  const until = performance.now() + WAIT_MS;
  for (;;) {
    // In this order: one that is settled between the two queries is seen in the balance.
    const pending = await pendingTopups(accountId).first();
    const account = await Account.query().findById(accountId).throwIfNotFound();
    if (account.balance >= credits) return 'credited';
    if (pending === undefined) return 'none';
    const isOld = pending.created_at <= addMilliseconds(now(), -2 * WAIT_MS);
    if (isOld || performance.now() > until) return 'unknown';
    await setTimeout(LOOK_EVERY_MS);
  }
}

/** Waits a limited time for the payment; it goes on after that, and is credited when its outcome is known. */
async function settleInTime(topup: Topup): Promise<AutoTopupOutcome> {
  const settled = settle(chargeEffect, topup).catch((err: unknown) => {
    logger.error({ err, topup: topup.uuid }, 'automatic top-up not settled; will be retried');
    return 'pending' as const;
  });
  const status = await Promise.race([settled, setTimeout(WAIT_MS, 'pending' as const)]);
  return ({ succeeded: 'credited', failed: 'none', pending: 'unknown' } as const)[status];
}

function pendingTopups(accountId: number, transaction?: Transaction) {
  return Topup.query(transaction).where({ account_id: accountId, kind: 'automatic', status: 'pending' });
}

/** The hour is taken before anything is charged, and whatever comes of it: two processes never both charge. */
async function claim(accountId: number, isNeeded: (account: Account) => boolean): Promise<Topup | undefined> {
  return Account.transaction(async (transaction) => {
    const account = await lockAccount(transaction, accountId);
    const claimedAt = account.auto_topup_claimed_at;
    const at = now();
    const isFree = claimedAt === null || claimedAt <= addMilliseconds(at, -AUTO_TOPUP_INTERVAL_MS);
    const isReady = account.auto_topup_enabled && isFree && activePlan(account, at) !== null;
    if (!isReady || !isNeeded(account)) return undefined;
    if (knownCustomer(account) === null) return undefined;
    // While nobody knows what became of the one before, another would be a second charge for the same need.
    if ((await pendingTopups(accountId, transaction).first()) !== undefined) return undefined;
    await account.$query(transaction).patch({ auto_topup_claimed_at: at, auto_topup_triggered_at: null });
    return beginTopup(account, 'automatic', account.auto_topup_amount_cents, uuidv7(), { transaction, at });
  });
}

/** Takes up an automatic top-up of which nobody knows whether it was charged. */
export async function charge(topup: Topup): Promise<void> {
  await settle(chargeAgainEffect, topup);
}

/** Credits what was charged. While nobody knows what came of it, it stays pending, and is asked about again. */
async function settle(look: (topup: Topup) => Promise<Effect | null>, topup: Topup): Promise<Topup['status']> {
  try {
    const effect = await look(topup);
    if (effect !== null) await carryOut(effect);
  } catch (error) {
    if (!(error instanceof ProcessorError)) throw error;
    logger.warn(
      { topup: topup.uuid, fault: error.fault, error: error.message },
      'an automatic top-up is not settled yet',
    );
  }
  return (await Topup.query().findById(topup.uuid).throwIfNotFound()).status;
}

/** Charges a top-up. Repeated, it says what came of the first charge. */
export async function chargeEffect(topup: Topup): Promise<Effect | null> {
  const account = await Account.query().findById(topup.account_id).throwIfNotFound();
  const customerId = knownCustomer(account) as string;
  const ticket = await takeTicket();
  const paymentMethodId = await processor.paymentMethodOf(customerId);
  const { uuid: topupUuid, amount_cents: amountCents } = topup;
  if (paymentMethodId === null) return failedEffect(topup, 'declined', ticket);
  try {
    const payment = await processor.chargeTopup({ customerId, paymentMethodId, topupUuid, amountCents });
    return await paymentEffect(payment, ticket);
  } catch (error) {
    if (!(error instanceof ProcessorError) || error.fault !== 'refused') throw error;
    // No bank has said no: it is our request that is refused, and nothing that the customer could mend.
    logger.error({ topup: topupUuid, error: error.message }, 'the processor takes no such payment');
    return failedEffect(topup, 'canceled', ticket);
  }
}

/**
 * It may have been charged: that is looked for first, since the processor would repeat what it answered then and not
 * what has become of it. If it was not, it is charged only for whom it is still wanted.
 */
async function chargeAgainEffect(topup: Topup): Promise<Effect | null> {
  const account = await Account.query().findById(topup.account_id).throwIfNotFound();
  const ticket = await takeTicket();
  const since = addMilliseconds(topup.created_at, -MARGIN_MS);
  const payment = await processor.findPayment(knownCustomer(account) as string, topup.uuid, since);
  if (payment !== null) return paymentEffect(payment, ticket);
  const isWanted = account.auto_topup_enabled && activePlan(account) !== null;
  const isLate = topup.created_at <= addMilliseconds(now(), -LATE_MS);
  return isWanted && !isLate ? chargeEffect(topup) : failedEffect(topup, 'canceled', ticket);
}

/** The processor's clock may differ from ours by so much. */
const MARGIN_MS = 600_000;
/** Whoever fell below their threshold so long ago has been asked for it anew. */
const LATE_MS = 3_600_000;

const LOW_AT_ONCE = 100;

/** Retries triggers that were recorded and not acted on: the job was lost, a process died, or the hour was not over. */
export async function topUpLowAccounts(): Promise<void> {
  const rows = await Account.query()
    .select('id')
    .where({ auto_topup_enabled: true })
    .whereNotNull('auto_topup_triggered_at')
    .whereColumn('balance', '<', 'auto_topup_threshold_credits')
    .where((free) => {
      void free
        .whereNull('auto_topup_claimed_at')
        .orWhere('auto_topup_claimed_at', '<=', addMilliseconds(now(), -AUTO_TOPUP_INTERVAL_MS));
    })
    .where('spend_until', '>', now())
    .whereNotExists(
      Topup.query().whereColumn('topups.account_id', 'accounts.id').where({ kind: 'automatic', status: 'pending' }),
    )
    // Accounts that cannot be charged would stay at the front, and keep all others from their turn.
    .modify((chargeable) => void (!processor.isSimulated && chargeable.whereNotNull('stripe_customer_id')))
    .orderBy('auto_topup_triggered_at')
    .limit(LOW_AT_ONCE);
  for (const { id } of rows) await topUpIfLow(id);
}
