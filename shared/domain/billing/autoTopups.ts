import { setTimeout } from 'node:timers/promises';
import type { Transaction } from 'objection';
import pLimit from 'p-limit';
import { v7 as uuidv7 } from 'uuid';
import { processor, ProcessorError, type ProcessorPayment } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { isAcceptingWaiters } from '../../queues/generationUpdates.ts';
import { AUTO_TOPUP_INTERVAL_MS } from '../../spec/limits.ts';
import { Account } from '../../tables/Account.ts';
import { Topup } from '../../tables/Topup.ts';
import { withAccountLock } from '../payments/accountSnapshot.ts';
import { logProcessorError, trySync } from '../payments/processorErrors.ts';
import { nextSyncVersion } from '../payments/syncVersion.ts';
import { getCustomerId } from './customers.ts';
import { getActivePlan } from './entitlement.ts';
import { buildFailedTopup, findTopupSnapshot, settleTopup, type TopupSnapshot } from './topupPayments.ts';
import { createTopup } from './topups.ts';
import { HOUR_MS } from '../../spec/durations.ts';

/*
 * The two triggers (spec: Billing, automatic top-ups): a create that the balance does not cover calls
 * `chargeAutoTopupForGeneration` (generations/create.ts); a burn that leaves the balance below the threshold sets
 * `accounts.auto_topup_triggered_at` in the charge's own statement (generations/chargeStatement.ts), which a job and the sweep
 * pass to `chargeTriggeredAutoTopup`.
 */

/** Time that a create waits for an automatic top-up; for the one of another create, only until the process stops. */
export const AUTO_TOPUP_WAIT_TIMEOUT_MS = 12_000;
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
  if (topup !== undefined) await settleAutoTopup(topup, chargeAutoTopup);
}

const CONCURRENCY = 4;

/** Charges triggered top-ups of several accounts, a few at a time, as each makes requests to the processor. */
export async function chargeTriggeredAutoTopups(accountIds: number[]): Promise<void> {
  const slots = pLimit(CONCURRENCY);
  await Promise.all([...new Set(accountIds)].map((id) => slots(() => chargeTriggeredAutoTopup(id))));
}

/**
 * The outcome of an automatic top-up for a generation.
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
    // In this order: a top-up that is settled between the two queries shows in the balance.
    const pending = await pendingAutoTopups(accountId).first();
    const account = await Account.query().findById(accountId).throwIfNotFound();
    if (account.balance >= credits) return 'credited';
    if (pending === undefined) return 'none';
    const isOld = pending.created_at <= addMilliseconds(now(), -2 * AUTO_TOPUP_WAIT_TIMEOUT_MS);
    if (isOld || !isAcceptingWaiters() || performance.now() > waitUntil) return 'unknown';
    await setTimeout(BALANCE_POLL_INTERVAL_MS);
  }
}

/** Waits a limited time for the payment, which continues after that and is credited once its outcome is known. */
async function settleAutoTopupWithTimeout(topup: Topup): Promise<AutoTopupOutcome> {
  const settling = settleAutoTopup(topup, chargeAutoTopup).catch((err: unknown) => {
    logger.error({ err, topup: topup.uuid }, 'automatic top-up not settled; sweep will retry');
    return 'pending' as const;
  });
  const status = await Promise.race([settling, setTimeout(AUTO_TOPUP_WAIT_TIMEOUT_MS, 'pending' as const)]);
  return ({ succeeded: 'credited', failed: 'none', pending: 'unknown' } as const)[status];
}

function pendingAutoTopups(accountId: number, transaction?: Transaction) {
  return Topup.query(transaction).where({ account_id: accountId, kind: 'automatic', status: 'pending' });
}

/** Returns whether the account wants automatic top-ups and may have them. */
function isAutoTopupAllowed(account: Account, at: Date): boolean {
  return account.auto_topup_enabled && account.suspended_at === null && getActivePlan(account, at) !== null;
}

function isIntervalOver(claimedAt: Date | null, at: Date): boolean {
  return claimedAt === null || claimedAt <= addMilliseconds(at, -AUTO_TOPUP_INTERVAL_MS);
}

/** Columns of an account from which {@link isAutoTopupExpected} predicts a top-up. */
export type AutoTopupState = Pick<
  Account,
  'uuid' | 'stripe_customer_id' | 'auto_topup_enabled' | 'auto_topup_claimed_at'
>;

/**
 * Predicts whether a create that the balance does not cover would charge an automatic top-up or wait for the pending
 * one. The account has an active plan and is not suspended.
 */
export function isAutoTopupExpected(account: AutoTopupState, hasPendingTopup: boolean, at: Date): boolean {
  if (!account.auto_topup_enabled) return false;
  return hasPendingTopup || (isIntervalOver(account.auto_topup_claimed_at, at) && getCustomerId(account) !== null);
}

/**
 * Claims the account's top-up of this hour and records it, before anything is charged. The claim stays, whatever the
 * outcome of the charge, so that two processes never both charge.
 */
async function claimAutoTopup(accountId: number, isNeeded: (account: Account) => boolean): Promise<Topup | undefined> {
  return withAccountLock(accountId, async (transaction, account) => {
    const at = now();
    const isReady = isAutoTopupAllowed(account, at) && isIntervalOver(account.auto_topup_claimed_at, at);
    if (!isReady || !isNeeded(account)) return undefined;
    if (getCustomerId(account) === null) return undefined;
    // While the outcome of the previous one is unknown, another could be a second charge for the same need.
    if ((await pendingAutoTopups(accountId, transaction).first()) !== undefined) return undefined;
    await account.$query(transaction).patch({ auto_topup_claimed_at: at, auto_topup_triggered_at: null });
    return createTopup(account, 'automatic', account.auto_topup_amount_cents, uuidv7(), { transaction, at });
  });
}

/** Settles an automatic top-up that may or may not have been charged. */
export async function retryAutoTopup(topup: Topup): Promise<void> {
  await settleAutoTopup(topup, findOrChargeAutoTopup);
}

/** Charges a top-up and credits it. It stays pending while the outcome is unknown, and the sweep retries. */
async function settleAutoTopup(
  topup: Topup,
  charge: (topup: Topup) => Promise<TopupSnapshot | null>,
): Promise<Topup['status']> {
  try {
    await settleTopup(await charge(topup));
  } catch (err) {
    if (!(err instanceof ProcessorError)) throw err;
    logProcessorError(err, { topup: topup.uuid }, 'automatic top-up not settled yet; sweep will retry');
  }
  return (await Topup.query().findById(topup.uuid).throwIfNotFound()).status;
}

/** Charges a top-up while the account wants it. When repeated, returns the outcome of the first charge. */
export async function chargeAutoTopup(topup: Topup): Promise<TopupSnapshot | null> {
  const account = await Account.query().findById(topup.account_id).throwIfNotFound();
  const customerId = getCustomerId(account);
  // The customer was removed after the top-up was created: it is retried, and fails when it is late.
  if (customerId === null) return null;
  const syncVersion = await nextSyncVersion();
  const paymentMethodId = await processor.findPaymentMethod(customerId);
  const { uuid: topupUuid, amount_cents: amountCents, credits } = topup;
  // Read after the request to the processor, which takes seconds at worst. A simulated payment may have been made already.
  const current = await account.$query();
  const isWanted = processor.isSimulated ? current.suspended_at === null : isAutoTopupAllowed(current, now());
  if (!isWanted) return buildFailedTopup(topup, 'canceled', syncVersion);
  if (paymentMethodId === null) return buildFailedTopup(topup, 'declined', syncVersion);
  try {
    const order = { topupUuid, accountUuid: account.uuid, amountCents, credits };
    const payment = await processor.chargeTopup({ customerId, paymentMethodId, ...order });
    return await findTopupSnapshot(payment, syncVersion);
  } catch (err) {
    if (!(err instanceof ProcessorError) || err.fault !== 'rejected') throw err;
    if (err.isAddressMissing) return buildFailedTopup(topup, 'address_required', syncVersion);
    // The processor rejected the request itself. That is not a decline, and the customer cannot fix it.
    logger.error({ err, topup: topupUuid }, 'automatic top-up rejected by the processor');
    return buildFailedTopup(topup, 'canceled', syncVersion);
  }
}

/**
 * Finds the payment of a top-up that may have been charged, as a repeated charge would return its first response and
 * not its state today. If there is no payment, charges the top-up unless it is late.
 */
async function findOrChargeAutoTopup(topup: Topup): Promise<TopupSnapshot | null> {
  const account = await Account.query().findById(topup.account_id).throwIfNotFound();
  const syncVersion = await nextSyncVersion();
  const isLate = topup.created_at <= addMilliseconds(now(), -CHARGE_RETRY_WINDOW_MS);
  const customerId = getCustomerId(account);
  if (customerId === null && !isLate) return null;
  const payment = customerId === null ? null : await findTopupPayment(topup, customerId, isLate);
  if (payment !== null) return findTopupSnapshot(payment, syncVersion);
  return isLate ? buildFailedTopup(topup, 'canceled', syncVersion) : chargeAutoTopup(topup);
}

/** Returns the payment of a top-up. For a late one, a customer that no longer exists counts as no payment. */
async function findTopupPayment(
  { uuid, created_at: createdAt }: Topup,
  customerId: string,
  isLate: boolean,
): Promise<ProcessorPayment | null> {
  try {
    return await processor.findPayment(customerId, uuid, createdAt);
  } catch (error) {
    if (isLate && error instanceof ProcessorError && error.isCustomerGone) return null;
    throw error;
  }
}

/** A top-up is retried for this long. After that, a burn below the threshold triggers another one. */
const CHARGE_RETRY_WINDOW_MS = HOUR_MS;

const BATCH_SIZE = 100;

/** Retries recorded triggers without a charge: the job was lost, a process died, or the hour was not over. */
export async function sweepAutoTopups(): Promise<void> {
  const rows = await Account.query()
    .select('id')
    .where({ auto_topup_enabled: true, suspended_at: null })
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
    // Accounts that cannot be charged would stay at the front and block all others.
    .modify((chargeable) => void (!processor.isSimulated && chargeable.whereNotNull('stripe_customer_id')))
    .orderBy('auto_topup_triggered_at')
    .limit(BATCH_SIZE);
  for (const { id } of rows) {
    await trySync(() => chargeTriggeredAutoTopup(id));
  }
}
