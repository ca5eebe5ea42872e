import { setTimeout } from 'node:timers/promises';
import type { Transaction } from 'objection';
import pLimit from 'p-limit';
import { v7 as uuidv7 } from 'uuid';
import { processor, ProcessorError, type ProcessorPayment } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { AUTO_TOPUP_INTERVAL_MS } from '../../spec/limits.ts';
import { Account } from '../../tables/Account.ts';
import { Topup } from '../../tables/Topup.ts';
import { lockAccount } from '../credits/ledger.ts';
import { getActivePlan } from './billingStatus.ts';
import { getCustomerId } from './customers.ts';
import { tryApply, applyChange, type AccountChange, nextSyncVersion } from './accountChanges.ts';
import { createTopup, buildFailedTopupChange, buildPaymentChange } from './topups.ts';

/** How long a create waits for an automatic top-up. */
const AUTO_TOPUP_WAIT_TIMEOUT_MS = 12_000;
const BALANCE_POLL_INTERVAL_MS = 250;

/**
 * Charges the automatic top-up that a burn has triggered. Does nothing without a recorded trigger, when the balance has
 * recovered, when automatic top-ups are off, or within an hour of the last one.
 */
export async function chargeTriggeredAutoTopup(accountId: number): Promise<void> {
  const topup = await claimAutoTopup(
    accountId,
    ({ auto_topup_triggered_at: triggeredAt, balance, auto_topup_threshold_credits: threshold }) =>
      triggeredAt !== null && balance < threshold,
  );
  if (topup !== undefined) await settleAutoTopup(chargeAutoTopup, topup);
}

const CONCURRENCY = 4;

/** The same for several accounts, each once, and some side by side: each asks the processor for something. */
export async function chargeTriggeredAutoTopups(accountIds: number[]): Promise<void> {
  const slots = pLimit(CONCURRENCY);
  await Promise.all([...new Set(accountIds)].map((id) => slots(() => chargeTriggeredAutoTopup(id))));
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
export async function chargeAutoTopupForGeneration(accountId: number, credits: number): Promise<AutoTopupOutcome> {
  const { auto_topup_enabled: isEnabled } = await Account.query().findById(accountId).throwIfNotFound();
  if (!isEnabled) return 'none';
  const topup = await claimAutoTopup(accountId, (account) => account.balance < credits);
  if (topup !== undefined) return settleAutoTopupWithTimeout(topup);
  const waitUntil = performance.now() + AUTO_TOPUP_WAIT_TIMEOUT_MS;
  for (;;) {
    // In this order: one that is settled between the two queries is seen in the balance.
    const pending = await pendingAutoTopups(accountId).first();
    const account = await Account.query().findById(accountId).throwIfNotFound();
    if (account.balance >= credits) return 'credited';
    if (pending === undefined) return 'none';
    const isOld = pending.created_at <= addMilliseconds(now(), -2 * AUTO_TOPUP_WAIT_TIMEOUT_MS);
    if (isOld || performance.now() > waitUntil) return 'unknown';
    await setTimeout(BALANCE_POLL_INTERVAL_MS);
  }
}

/** Waits a limited time for the payment; it goes on after that, and is credited when its outcome is known. */
async function settleAutoTopupWithTimeout(topup: Topup): Promise<AutoTopupOutcome> {
  const settling = settleAutoTopup(chargeAutoTopup, topup).catch((err: unknown) => {
    logger.error({ err, topup: topup.uuid }, 'automatic top-up not settled; will be retried');
    return 'pending' as const;
  });
  const status = await Promise.race([settling, setTimeout(AUTO_TOPUP_WAIT_TIMEOUT_MS, 'pending' as const)]);
  return ({ succeeded: 'credited', failed: 'none', pending: 'unknown' } as const)[status];
}

function pendingAutoTopups(accountId: number, transaction?: Transaction) {
  return Topup.query(transaction).where({ account_id: accountId, kind: 'automatic', status: 'pending' });
}

/** The hour is taken before anything is charged, and whatever comes of it: two processes never both charge. */
async function claimAutoTopup(accountId: number, isNeeded: (account: Account) => boolean): Promise<Topup | undefined> {
  return Account.transaction(async (transaction) => {
    const account = await lockAccount(transaction, accountId);
    const claimedAt = account.auto_topup_claimed_at;
    const at = now();
    const isIntervalOver = claimedAt === null || claimedAt <= addMilliseconds(at, -AUTO_TOPUP_INTERVAL_MS);
    const isReady = account.auto_topup_enabled && isIntervalOver && getActivePlan(account, at) !== null;
    if (!isReady || !isNeeded(account)) return undefined;
    if (getCustomerId(account) === null) return undefined;
    // While nobody knows what became of the one before, another would be a second charge for the same need.
    if ((await pendingAutoTopups(accountId, transaction).first()) !== undefined) return undefined;
    await account.$query(transaction).patch({ auto_topup_claimed_at: at, auto_topup_triggered_at: null });
    return createTopup(account, 'automatic', account.auto_topup_amount_cents, uuidv7(), { transaction, at });
  });
}

/** Takes up an automatic top-up of which nobody knows whether it was charged. */
export async function retryAutoTopup(topup: Topup): Promise<void> {
  await settleAutoTopup(findOrChargeAutoTopup, topup);
}

/** Credits what was charged. While nobody knows what came of it, it stays pending, and is asked about again. */
async function settleAutoTopup(
  fetchChange: (topup: Topup) => Promise<AccountChange | null>,
  topup: Topup,
): Promise<Topup['status']> {
  try {
    const change = await fetchChange(topup);
    if (change !== null) await applyChange(change);
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
export async function chargeAutoTopup(topup: Topup): Promise<AccountChange | null> {
  const account = await Account.query().findById(topup.account_id).throwIfNotFound();
  const customerId = getCustomerId(account);
  // Removed since the top-up was begun: it is taken up again, and fails when it is late.
  if (customerId === null) return null;
  const syncVersion = await nextSyncVersion();
  const paymentMethodId = await processor.findPaymentMethod(customerId);
  const { uuid: topupUuid, amount_cents: amountCents } = topup;
  if (paymentMethodId === null) return buildFailedTopupChange(topup, 'declined', syncVersion);
  try {
    const payment = await processor.chargeTopup({ customerId, paymentMethodId, topupUuid, amountCents });
    return await buildPaymentChange(payment, syncVersion);
  } catch (error) {
    if (!(error instanceof ProcessorError) || error.fault !== 'refused') throw error;
    // No bank has said no: it is our request that is refused, and nothing that the customer could mend.
    logger.error({ topup: topupUuid, error: error.message }, 'the processor takes no such payment');
    return buildFailedTopupChange(topup, 'canceled', syncVersion);
  }
}

/**
 * It may have been charged: that is looked for first, since the processor would repeat what it answered then and not
 * what has become of it. If it was not, it is charged only for whom it is still wanted.
 */
async function findOrChargeAutoTopup(topup: Topup): Promise<AccountChange | null> {
  const account = await Account.query().findById(topup.account_id).throwIfNotFound();
  const syncVersion = await nextSyncVersion();
  const isLate = topup.created_at <= addMilliseconds(now(), -CHARGE_RETRY_WINDOW_MS);
  const customerId = getCustomerId(account);
  if (customerId === null && !isLate) return null;
  const payment = customerId === null ? null : await findTopupPayment(topup, customerId, isLate);
  if (payment !== null) return buildPaymentChange(payment, syncVersion);
  const isWanted = account.auto_topup_enabled && getActivePlan(account) !== null;
  return isWanted && !isLate ? chargeAutoTopup(topup) : buildFailedTopupChange(topup, 'canceled', syncVersion);
}

/** Of a customer who is gone nothing is charged any more, when it is late; what was charged before is told of. */
async function findTopupPayment(
  { uuid, created_at: createdAt }: Topup,
  customerId: string,
  isLate: boolean,
): Promise<ProcessorPayment | null> {
  try {
    return await processor.findPayment(customerId, uuid, addMilliseconds(createdAt, -CLOCK_SKEW_MS));
  } catch (error) {
    if (isLate && error instanceof ProcessorError && error.isCustomerGone) return null;
    throw error;
  }
}

/** The processor's clock may differ from ours by so much. */
const CLOCK_SKEW_MS = 600_000;
/** Whoever fell below their threshold so long ago has been asked for it anew. */
const CHARGE_RETRY_WINDOW_MS = 3_600_000;

const BATCH_SIZE = 100;

/** Retries triggers that were recorded and not acted on: the job was lost, a process died, or the hour was not over. */
export async function sweepAutoTopups(): Promise<void> {
  const rows = await Account.query()
    .select('id')
    .where({ auto_topup_enabled: true })
    .whereNotNull('auto_topup_triggered_at')
    .whereColumn('balance', '<', 'auto_topup_threshold_credits')
    .where((unclaimed) => {
      void unclaimed
        .whereNull('auto_topup_claimed_at')
        .orWhere('auto_topup_claimed_at', '<=', addMilliseconds(now(), -AUTO_TOPUP_INTERVAL_MS));
    })
    .where('spendable_until', '>', now())
    .whereNotExists(
      Topup.query().whereColumn('topups.account_id', 'accounts.id').where({ kind: 'automatic', status: 'pending' }),
    )
    // Accounts that cannot be charged would stay at the front, and keep all others from their turn.
    .modify((chargeable) => void (!processor.isSimulated && chargeable.whereNotNull('stripe_customer_id')))
    .orderBy('auto_topup_triggered_at')
    .limit(BATCH_SIZE);
  for (const { id } of rows) {
    await tryApply(async () => {
      await chargeTriggeredAutoTopup(id);
      return null;
    });
  }
}
