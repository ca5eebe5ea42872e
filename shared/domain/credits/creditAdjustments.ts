import { isDuplicate } from '../../lib/db.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { LedgerEntry } from '../../tables/LedgerEntry.ts';
import { lockAccount, postEntries } from './ledger.ts';

/** So many at a time at most: who wants to give more has most likely mistyped. */
export const ADJUSTMENT_MAX_CREDITS = 100_000;

/** Credits that the staff gives away. */
export interface CreditAdjustment {
  accountId: number;
  credits: number;
  /** Names this gift: carried out once, however often it is asked for. */
  requestName: string;
  /** What for, in words that the customer reads in the ledger; '' says nothing. */
  note: string;
}

/** What a gift came to. */
export interface CreditAdjustmentResult {
  account: Account;
  entry: LedgerEntry;
  /** Whether it had been given before. */
  isRepeat: boolean;
}

/**
 * Gives credits away. They go into the top-up bucket, so that they do not expire with the month.
 * @throws ServiceError validation_error where the request has given something else before.
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
  try {
    await Account.transaction(async (transaction) => {
      const account = await lockAccount(transaction, accountId);
      await postEntries(transaction, account, [input]);
    });
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    return { ...(await getPostedAdjustment(adjustment)), isRepeat: true };
  }
  logger.info({ account: accountId, credits, request: adjustment.requestName }, 'goodwill credits granted');
  return { ...(await getPostedAdjustment(adjustment)), isRepeat: false };
}

/**
 * What a request has given already, or null.
 * @throws ServiceError validation_error where that was something else.
 */
export async function findCreditAdjustment(adjustment: CreditAdjustment): Promise<LedgerEntry | null> {
  const entry = await LedgerEntry.query().findOne({ effect_key: buildEffectKey(adjustment.requestName) });
  if (entry === undefined) return null;
  const isTheSame =
    entry.account_id === adjustment.accountId &&
    entry.amount === adjustment.credits &&
    entry.description === buildDescription(adjustment);
  if (isTheSame) return entry;
  throw new ServiceError(
    'validation_error',
    `The request ${adjustment.requestName} has given something else before (${entry.amount} credits, "${entry.description}"): take another name for a new one.`,
  );
}

async function getPostedAdjustment(adjustment: CreditAdjustment): Promise<Omit<CreditAdjustmentResult, 'isRepeat'>> {
  const entry = await findCreditAdjustment(adjustment);
  if (entry === null)
    throw new Error(`The request ${adjustment.requestName} was refused as a repetition, and is not there.`);
  return { entry, account: await Account.query().findById(adjustment.accountId).throwIfNotFound() };
}

function buildEffectKey(requestName: string): string {
  return `goodwill:${requestName}`;
}

function buildDescription({ note }: CreditAdjustment): string {
  return note === '' ? 'Goodwill credits' : `Goodwill credits: ${note}`;
}
