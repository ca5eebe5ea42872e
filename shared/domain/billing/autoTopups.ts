import { setTimeout } from 'node:timers/promises';
import pLimit from 'p-limit';
import { v7 as uuidv7 } from 'uuid';
import { processor, ProcessorError, type ProcessorPayment } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { isAcceptingWaiters } from '../../queues/generationUpdates.ts';
import { Account } from '../../tables/Account.ts';
import { Topup } from '../../tables/Topup.ts';
import { withDueGrants } from '../credits/renewDuePeriods.ts';
import { logProcessorError, trySync } from '../payments/processorErrors.ts';
import { type AccountSnapshot, applySnapshot, nextSyncVersion } from '../payments/accountSnapshot.ts';
import {
  AUTO_TOPUP_WAIT_TIMEOUT_MS,
  findDueAutoTopups,
  isAutoTopupNeeded,
  readAutoTopupState,
} from './autoTopupRule.ts';
import { getCustomerId } from './customers.ts';
import { syncPurchases } from './syncPurchases.ts';
import { buildFailedTopup, findTopupSnapshot } from './topupPayments.ts';
import { createTopup } from './topups.ts';
import { HOUR_MS } from '../../spec/durations.ts';

/*
 * The two triggers (spec: Billing, automatic top-ups): a create that the balance does not cover calls
 * `chargeAutoTopupForGeneration` (generations/create.ts); a burn that leaves the balance below the threshold sets
 * `accounts.auto_topup_triggered_at` in the charge's own statement (generations/chargeGenerations.sql), which a job and
 * the sweep pass to `chargeTriggeredAutoTopup`.
 */

const BALANCE_POLL_INTERVAL_MS = 250;

/**
 * Charges the automatic top-up that a burn has triggered. Does nothing without a recorded trigger, when the balance has
 * recovered, when automatic top-ups are off, or within an hour of the last one.
 */
async function chargeTriggeredAutoTopup(accountId: number): Promise<void> {
  const topup = await claimAutoTopup(accountId, null);
  if (topup instanceof Topup) await settleAutoTopup(topup, chargeAutoTopup);
}

const CONCURRENCY = 4;

/** Charges triggered top-ups of several accounts, a few at a time, as each makes requests to the processor. */
export async function chargeTriggeredAutoTopups(accountIds: number[]): Promise<void> {
  const slots = pLimit(CONCURRENCY);
  await Promise.all([...new Set(accountIds)].map((id) => slots(() => chargeTriggeredAutoTopup(id))));
}

/**
 * The outcome of an automatic top-up for a generation.
 * - `credited`: the balance covers the generation now, because of an automatic top-up.
 * - `covered`: the balance covers the generation without one.
 * - `none`: no top-up was charged, and none is in progress.
 * - `unchecked`: nothing was charged, because the processor did not say what the customer has paid already.
 * - `processing`: an earlier one waits for the bank, which takes days. No other one is charged until then.
 * - `unknown`: a payment is in progress, or its outcome is not known yet. It may still be charged.
 */
export type AutoTopupOutcome = 'credited' | 'covered' | 'none' | 'unchecked' | 'processing' | 'unknown';

/**
 * Charges an automatic top-up for a generation that the balance does not cover, or waits for the one in progress.
 */
export async function chargeAutoTopupForGeneration(accountId: number, credits: number): Promise<AutoTopupOutcome> {
  const waitUntil = performance.now() + AUTO_TOPUP_WAIT_TIMEOUT_MS;
  let hasWaited = false;
  for (;;) {
    const { state, balance } = await readAutoTopupState(accountId, credits, now());
    if (balance >= credits) return hasWaited ? 'credited' : 'covered';
    if (state === 'none' || state === 'processing') return state;
    const leftMs = waitUntil - performance.now();
    if (state === 'unsettled' || leftMs <= 0) return 'unknown';
    if (state === 'due') {
      const outcome = await chargeWithTimeout(accountId, credits, leftMs);
      if (outcome !== 'none') return outcome;
      continue;
    }
    if (!isAcceptingWaiters()) return 'unknown';
    hasWaited = true;
    await setTimeout(BALANCE_POLL_INTERVAL_MS);
  }
}

/** Waits a limited time for the payment, which continues after that and is credited once its outcome is known. */
function chargeWithTimeout(accountId: number, credits: number, timeoutMs: number): Promise<AutoTopupOutcome> {
  return Promise.race([chargeForGeneration(accountId, credits), setTimeout(timeoutMs, 'unknown' as const)]);
}

async function chargeForGeneration(accountId: number, credits: number): Promise<AutoTopupOutcome> {
  const topup = await claimAutoTopup(accountId, credits);
  if (!(topup instanceof Topup)) return topup;
  const { uuid } = topup;
  const status = await settleAutoTopup(topup, chargeAutoTopup).catch((err: unknown) => {
    logger.error({ err, topup: uuid }, 'automatic top-up not settled; sweep will retry');
    return 'pending' as const;
  });
  return ({ succeeded: 'credited', failed: 'none', pending: 'unknown' } as const)[status];
}

/**
 * Claims the account's top-up of this hour and records it with its need, before anything is charged. The claim stays,
 * whatever the outcome of the charge, so that two processes never both charge.
 * @param neededCredits that a create needs; null for a recorded trigger.
 * @returns `none` if none is due, and `unchecked` if the processor does not say what the customer has paid already.
 */
async function claimAutoTopup(accountId: number, neededCredits: number | null): Promise<Topup | 'none' | 'unchecked'> {
  if ((await readAutoTopupState(accountId, neededCredits, now())).state !== 'due') return 'none';
  let isChargedAlready = false;
  try {
    await syncPurchases(accountId);
    isChargedAlready = neededCredits === null && (await hasUnknownCharge(accountId));
  } catch (err) {
    if (!(err instanceof ProcessorError)) throw err;
    logProcessorError(err, { accountId }, 'automatic top-up not claimed: purchases not synced');
    return 'unchecked';
  }
  return withDueGrants(accountId, async (transaction, account, at) => {
    const { state } = await readAutoTopupState(accountId, neededCredits, at, transaction);
    if (state !== 'due') return 'none';
    await account.$query(transaction).patch({ auto_topup_claimed_at: at, auto_topup_triggered_at: null });
    if (isChargedAlready) return 'none';
    const { auto_topup_amount_cents: amountCents } = account;
    return createTopup(account, 'automatic', amountCents, uuidv7(), { transaction, at, neededCredits });
  });
}

/**
 * Returns whether the customer has paid, since the trigger was recorded, for a top-up that the database does not have:
 * it was restored from a backup from between the two, and the trigger is due again. `payments.reconcile` adds the
 * credits.
 */
async function hasUnknownCharge(accountId: number): Promise<boolean> {
  const account = await Account.query().findById(accountId).throwIfNotFound();
  const customerId = getCustomerId(account);
  if (customerId === null || account.auto_topup_triggered_at === null) return false;
  try {
    for await (const intentId of processor.listPaymentsSince(account.auto_topup_triggered_at, customerId)) {
      const { topupUuid = null, status } = (await processor.readPayment(intentId)) ?? {};
      if (topupUuid === null || status === 'failed') continue;
      if ((await Topup.query().findById(topupUuid)) === undefined) return true;
    }
  } catch (error) {
    if (!(error instanceof ProcessorError) || !error.isCustomerGone) throw error;
  }
  return false;
}

/** Settles an automatic top-up that may or may not have been charged. */
export const retryAutoTopup = (topup: Topup) => settleAutoTopup(topup, findOrChargeAutoTopup);

/** Charges a top-up and credits it. It stays pending while the outcome is unknown, and the sweep retries. */
async function settleAutoTopup(
  topup: Topup,
  charge: (topup: Topup) => Promise<AccountSnapshot | null>,
): Promise<Topup['status']> {
  try {
    await applySnapshot(await charge(topup));
  } catch (err) {
    if (!(err instanceof ProcessorError)) throw err;
    logProcessorError(err, { topup: topup.uuid }, 'automatic top-up not settled yet; sweep will retry');
  }
  return (await Topup.query().findById(topup.uuid).throwIfNotFound()).status;
}

/**
 * Charges a top-up while the account may have it and needs it. When repeated, returns the outcome of the first charge.
 */
export async function chargeAutoTopup(topup: Topup): Promise<AccountSnapshot | null> {
  const account = await Account.query().findById(topup.account_id).throwIfNotFound();
  const customerId = getCustomerId(account);
  // The customer was removed after the top-up was created: it is retried, and fails when it is late.
  if (customerId === null) return null;
  const syncVersion = await nextSyncVersion();
  const paymentMethodId = await processor.findPaymentMethod(customerId);
  const { uuid: topupUuid, amount_cents: amountCents, credits } = topup;
  // Decided after the request to the processor, which takes seconds at worst. A simulated payment may have been made
  // already.
  const isWanted = await withDueGrants(account.id, async (transaction, { suspended_at: suspendedAt }, at) =>
    processor.isSimulated ? suspendedAt === null : isAutoTopupNeeded(topupUuid, at, transaction),
  );
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
 * not its state today. If there is no payment, charges the top-up unless it is late or no longer needed.
 */
async function findOrChargeAutoTopup(topup: Topup): Promise<AccountSnapshot | null> {
  const account = await Account.query().findById(topup.account_id).throwIfNotFound();
  const syncVersion = await nextSyncVersion();
  const isLate = topup.created_at <= addMilliseconds(now(), -CHARGE_RETRY_WINDOW_MS);
  const customerId = getCustomerId(account);
  if (customerId === null && !isLate) return null;
  const payment = customerId === null ? null : await findTopupPayment(topup, customerId, isLate);
  if (payment !== null) return findTopupSnapshot(payment, syncVersion);
  if (isLate) return buildFailedTopup(topup, 'canceled', syncVersion);
  await syncPurchases(account.id);
  return chargeAutoTopup(topup);
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
  for (const accountId of await findDueAutoTopups(now(), BATCH_SIZE)) {
    await trySync(() => chargeTriggeredAutoTopup(accountId));
  }
}
