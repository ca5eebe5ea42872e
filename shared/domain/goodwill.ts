import { isDuplicate } from '../lib/db.ts';
import { logger } from '../lib/logger.ts';
import { ServiceError } from '../spec/errors.ts';
import { Account } from '../tables/Account.ts';
import { LedgerEntry } from '../tables/LedgerEntry.ts';
import { lockAccount, moveCredits } from './credits.ts';

/** So many at a time at most: who wants to give more has most likely mistyped. */
export const GOODWILL_MAX_CREDITS = 100_000;

/** Credits that the staff gives away. */
export interface Goodwill {
  accountId: number;
  credits: number;
  /** Names this gift: carried out once, however often it is asked for. */
  request: string;
  /** What for, in words that the customer reads in the ledger; '' says nothing. */
  note: string;
}

/** What a gift came to. */
export interface Given {
  account: Account;
  entry: LedgerEntry;
  /** Whether it had been given before. */
  isRepeat: boolean;
}

/**
 * Gives credits away. They go into the top-up bucket, so that they do not expire with the month.
 * @throws ServiceError validation_error where the request has given something else before.
 */
export async function grantGoodwill(goodwill: Goodwill): Promise<Given> {
  const { accountId, credits } = goodwill;
  const movement = {
    entryType: 'grant' as const,
    amount: credits,
    planAmount: 0,
    description: descriptionOf(goodwill),
    effectKey: effectKeyOf(goodwill.request),
  };
  try {
    await Account.transaction(async (transaction) => {
      const account = await lockAccount(transaction, accountId);
      await moveCredits(transaction, account, [movement]);
    });
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    return { ...(await givenBefore(goodwill)), isRepeat: true };
  }
  logger.info({ account: accountId, credits, request: goodwill.request }, 'goodwill credits granted');
  return { ...(await givenBefore(goodwill)), isRepeat: false };
}

/**
 * What a request has given already, or null.
 * @throws ServiceError validation_error where that was something else.
 */
export async function goodwillOf(goodwill: Goodwill): Promise<LedgerEntry | null> {
  const entry = await LedgerEntry.query().findOne({ effect_key: effectKeyOf(goodwill.request) });
  if (entry === undefined) return null;
  const isTheSame =
    entry.account_id === goodwill.accountId &&
    entry.amount === goodwill.credits &&
    entry.description === descriptionOf(goodwill);
  if (isTheSame) return entry;
  throw new ServiceError(
    'validation_error',
    `The request ${goodwill.request} has given something else before (${entry.amount} credits, "${entry.description}"): take another name for a new one.`,
  );
}

async function givenBefore(goodwill: Goodwill): Promise<Omit<Given, 'isRepeat'>> {
  const entry = await goodwillOf(goodwill);
  if (entry === null) throw new Error(`The request ${goodwill.request} was refused as a repetition, and is not there.`);
  return { entry, account: await Account.query().findById(goodwill.accountId).throwIfNotFound() };
}

function effectKeyOf(request: string): string {
  return `goodwill:${request}`;
}

function descriptionOf({ note }: Goodwill): string {
  return note === '' ? 'Goodwill credits' : `Goodwill credits: ${note}`;
}
