import type { Transaction } from 'objection';
import { config } from '../../lib/config.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { LedgerEntry } from '../../tables/LedgerEntry.ts';
import { type Actor, recordAuditEntry } from '../audit/recordAuditEntry.ts';
import { type EntryInput, lockAccount, postEntries } from '../credits/ledger.ts';

/** Largest adjustment. A larger amount is most likely a typing error. */
export const ADJUSTMENT_MAX_CREDITS = 100_000;

/** A manual change of a balance by staff. */
export interface CreditAdjustment {
  accountId: number;
  /** Credits to add; negative to remove. */
  credits: number;
  /** Idempotency key of the adjustment: it is posted once, however often it is requested. */
  requestName: string;
  /** Reason, which the customer reads in the ledger; may be empty. */
  note: string;
}

/** The posted adjustment. */
export interface CreditAdjustmentResult {
  account: Account;
  entry: LedgerEntry;
  /** True if an earlier request has posted it. */
  isRepeat: boolean;
}

/** Returns whether an adjustment needs a second member of staff. */
export function needsApproval(credits: number): boolean {
  const { STAFF_APPROVAL_CREDITS: limit } = config;
  return limit !== undefined && Math.abs(credits) >= limit;
}

/**
 * Posts a credit adjustment to the top-up bucket, so that it does not expire with the month, with its audit entry.
 * @throws ServiceError validation_error if another adjustment was posted under the same request name, or more credits
 * are to be removed than the top-up bucket has, or the account is erased; admin_required if it needs a second member of
 * staff, unless it is posted already.
 */
export async function postCreditAdjustment(
  adjustment: CreditAdjustment,
  actor: Actor,
): Promise<CreditAdjustmentResult> {
  if (needsApproval(adjustment.credits) && (await findCreditAdjustment(adjustment)) === null)
    throw new ServiceError('admin_required', `${adjustment.credits} credits need a second member of staff.`);
  const isPosted = await Account.transaction((transaction) => postAdjustmentWithin(transaction, adjustment, actor));
  const { accountId, credits, requestName } = adjustment;
  if (isPosted) logger.info({ accountId, credits, request: requestName }, 'credit adjustment posted');
  return { ...(await getPostedAdjustment(adjustment)), isRepeat: !isPosted };
}

/**
 * Posts an adjustment with its audit entry in a transaction of the caller, which has checked that it needs no approval,
 * or has one.
 * @param approval fields for the audit entry of an adjustment that another member approved.
 * @returns false if an earlier request has posted it.
 */
export async function postAdjustmentWithin(
  transaction: Transaction,
  adjustment: CreditAdjustment,
  actor: Actor,
  approval: Record<string, unknown> = {},
): Promise<boolean> {
  const { accountId, credits, requestName } = adjustment;
  const account = await lockAccount(transaction, accountId);
  // The database rejects a second entry of one account. The lock covers requests under one name for several accounts.
  await transaction.raw('SELECT pg_advisory_xact_lock(hashtextextended(?, 0))', [buildEffectKey(requestName)]);
  if ((await findPostedEntry(requestName, transaction)) !== undefined) return false;
  assertNotErased(account);
  const before = { balance: account.balance, topupCredits: account.topup_credits };
  assertRemovable(credits, before.topupCredits);
  const posted = await postEntries(transaction, account, [buildEntry(adjustment)]);
  await recordAuditEntry(transaction, actor, {
    action: 'credits.adjust',
    accountId,
    targetId: account.uuid,
    before,
    after: {
      balance: posted.balance,
      topupCredits: posted.topup_credits,
      credits,
      ledgerEntry: posted.ledger_count,
      request: requestName,
      ...approval,
    },
  });
  return true;
}

/** Rejects credits for an erased account, which can no longer be used. @throws ServiceError validation_error */
export function assertNotErased({ erased_at: erasedAt }: Account): void {
  if (erasedAt === null) return;
  throw new ServiceError('validation_error', 'The account is erased, so its credits can no longer be used.');
}

/** Plan credits are left alone: they expire with their month. @throws ServiceError validation_error */
export function assertRemovable(credits: number, topupCredits: number): void {
  if (-credits <= topupCredits) return;
  throw new ServiceError(
    'validation_error',
    `Only top-up credits can be removed, and the account has ${topupCredits}. Plan credits expire with their month.`,
  );
}

/**
 * Finds the entry that was posted under the request name, or null.
 * @throws ServiceError validation_error if it differs from this adjustment.
 */
export async function findCreditAdjustment(adjustment: CreditAdjustment): Promise<LedgerEntry | null> {
  const entry = await findPostedEntry(adjustment.requestName);
  if (entry === undefined) return null;
  const isSame =
    entry.account_id === adjustment.accountId &&
    entry.amount === adjustment.credits &&
    entry.description === buildDescription(adjustment);
  if (isSame) return entry;
  throw new ServiceError(
    'validation_error',
    `The request ${adjustment.requestName} has already posted another adjustment (${entry.amount} credits, "${entry.description}"). Use a new request name.`,
  );
}

function findPostedEntry(requestName: string, transaction?: Transaction): Promise<LedgerEntry | undefined> {
  return LedgerEntry.query(transaction).findOne('effect_key', buildEffectKey(requestName)).execute();
}

async function getPostedAdjustment(adjustment: CreditAdjustment): Promise<Omit<CreditAdjustmentResult, 'isRepeat'>> {
  const entry = await findCreditAdjustment(adjustment);
  if (entry === null) throw new Error(`The request ${adjustment.requestName} was posted, but has no entry.`);
  return { entry, account: await Account.query().findById(adjustment.accountId).throwIfNotFound() };
}

function buildEntry(adjustment: CreditAdjustment): EntryInput {
  const { credits, requestName } = adjustment;
  return {
    entryType: credits > 0 ? 'grant' : 'expiry',
    amount: credits,
    planAmount: 0,
    description: buildDescription(adjustment),
    effectKey: buildEffectKey(requestName),
  };
}

function buildEffectKey(requestName: string): string {
  return `adjustment:${requestName}`;
}

function buildDescription({ credits, note }: CreditAdjustment): string {
  const kind = credits > 0 ? 'Goodwill credits' : 'Credits removed';
  return note === '' ? kind : `${kind}: ${note}`;
}
