import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { LedgerEntry } from '../../tables/LedgerEntry.ts';
import { lockAccount, postEntries } from './ledger.ts';

/** Largest adjustment. A larger amount is most likely a typing error. */
export const ADJUSTMENT_MAX_CREDITS = 100_000;

/** A manual credit by staff. */
export interface CreditAdjustment {
  accountId: number;
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

/**
 * Posts a credit adjustment to the top-up bucket, so that it does not expire with the month.
 * @throws ServiceError validation_error if another adjustment was posted under the same request name.
 */
export async function postCreditAdjustment(adjustment: CreditAdjustment): Promise<CreditAdjustmentResult> {
  const { accountId, credits } = adjustment;
  const input = {
    entryType: 'grant' as const,
    amount: credits,
    planAmount: 0,
    description: buildDescription(adjustment),
    effectKey: buildEffectKey(adjustment.requestName),
  };
  const isRepeat = await Account.transaction(async (transaction) => {
    const account = await lockAccount(transaction, accountId);
    // The database rejects a second entry of one account. The lock covers requests under one name for several accounts.
    await transaction.raw('SELECT pg_advisory_xact_lock(hashtextextended(?, 0))', [input.effectKey]);
    const posted = await LedgerEntry.query(transaction).findOne({ effect_key: input.effectKey });
    if (posted === undefined) await postEntries(transaction, account, [input]);
    return posted !== undefined;
  });
  if (!isRepeat) logger.info({ accountId, credits, request: adjustment.requestName }, 'credit adjustment posted');
  return { ...(await getPostedAdjustment(adjustment)), isRepeat };
}

/**
 * Finds the entry that was posted under the request name, or null.
 * @throws ServiceError validation_error if it differs from this adjustment.
 */
export async function findCreditAdjustment(adjustment: CreditAdjustment): Promise<LedgerEntry | null> {
  const entry = await LedgerEntry.query().findOne({ effect_key: buildEffectKey(adjustment.requestName) });
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

async function getPostedAdjustment(adjustment: CreditAdjustment): Promise<Omit<CreditAdjustmentResult, 'isRepeat'>> {
  const entry = await findCreditAdjustment(adjustment);
  if (entry === null) throw new Error(`The request ${adjustment.requestName} was posted, but has no entry.`);
  return { entry, account: await Account.query().findById(adjustment.accountId).throwIfNotFound() };
}

function buildEffectKey(requestName: string): string {
  return `goodwill:${requestName}`;
}

function buildDescription({ note }: CreditAdjustment): string {
  return note === '' ? 'Goodwill credits' : `Goodwill credits: ${note}`;
}
