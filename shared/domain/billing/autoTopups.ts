import { setTimeout } from 'node:timers/promises';
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

/** How long a create waits for a top-up that somebody else has begun. */
const WAIT_MS = 12_000;
const LOOK_EVERY_MS = 250;

/**
 * Buys credits by itself for an account that has fallen below its threshold; nothing where it has not, has switched
 * that off, or has done so within the hour.
 */
export async function topUpIfLow(accountId: number): Promise<void> {
  const topup = await claim(accountId, (account) => account.balance < account.auto_topup_threshold_credits);
  if (topup !== undefined) await settle(chargeEffect, topup);
}

/**
 * Buys credits for a generation that the balance does not cover, or waits for those that are being bought.
 * @returns whether it is worth trying again.
 */
export async function topUpFor(accountId: number, credits: number): Promise<boolean> {
  const { auto_topup_enabled: isEnabled } = await Account.query().findById(accountId).throwIfNotFound();
  if (!isEnabled) return false;
  const topup = await claim(accountId, (account) => account.balance < credits);
  // Nobody waits for longer; the payment goes on, and is credited when it is known.
  if (topup !== undefined)
    return (await Promise.race([settle(chargeEffect, topup), setTimeout(WAIT_MS)])) === 'succeeded';
  const until = performance.now() + WAIT_MS;
  for (;;) {
    // In this order: one that is settled between the two looks is seen in the balance.
    const isBought = await Topup.query()
      .where({ account_id: accountId, kind: 'automatic', status: 'pending' })
      .where('created_at', '>', addMilliseconds(now(), -2 * WAIT_MS))
      .first();
    const account = await Account.query().findById(accountId).throwIfNotFound();
    if (account.balance >= credits) return true;
    if (isBought === undefined || performance.now() > until) return false;
    await setTimeout(LOOK_EVERY_MS);
  }
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
    const unsettled = Topup.query(transaction).where({ account_id: accountId, kind: 'automatic', status: 'pending' });
    if ((await unsettled.first()) !== undefined) return undefined;
    await account.$query(transaction).patch({ auto_topup_claimed_at: at });
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

/** Buys credits for accounts that are below their threshold and were missed: a process died, or the hour was not over. */
export async function topUpLowAccounts(): Promise<void> {
  const rows = await Account.query()
    .select('id')
    .where({ auto_topup_enabled: true })
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
    .orderByRaw('auto_topup_claimed_at NULLS FIRST')
    .limit(LOW_AT_ONCE);
  for (const { id } of rows) await topUpIfLow(id);
}
